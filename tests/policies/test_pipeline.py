"""Frame stack, normalisation, action scaling."""

from __future__ import annotations

import json

import numpy as np
import pytest
from gymnasium import spaces
from pydantic import ValidationError

from proctor.errors import InputError
from proctor.policies.options import PolicyOptions
from proctor.policies.pipeline import Pipeline
from proctor.policies.protocol import Actions, Policy, SpaceInfo, Stage, StagedPolicy, StageOutput
from proctor.testing import PolicyConformance

BOX = spaces.Box(-5, 5, (2,))
DICT = spaces.Dict({"image": spaces.Box(0, 255, (4, 4, 3), np.uint8), "joints": spaces.Box(-5, 5, (2,))})


class Seen(Policy):
    """Keeps what it was shown and counts its steps in a state of its own."""

    def __init__(self, action=(1,), memory=True):
        self.action, self.memory, self.seen = action, memory, []

    def reset(self, trials):
        return {"count": np.zeros(len(trials), np.int64)} if self.memory else None

    def act(self, batch):
        self.seen.append(batch.observation)
        actions = np.full((len(batch), *self.action), 0.5, np.float32)
        return Actions(actions, {"count": batch.state["count"] + 1}) if self.memory else actions


def wrap(inner, options, observation=BOX, action=None, base=None):
    info = SpaceInfo({"task": observation}, {"task": action or spaces.Box(-1, 1, (1,))})
    return Pipeline(PolicyOptions(**options), info, base).around(inner)


def run(policy, make_batch, frames):
    """Act on a sequence of observations of one row; the last answer."""
    batch = make_batch(frames[0])
    state, answer = policy.reset(batch.trials), None
    for frame in frames:
        answer = policy.act(make_batch(frame, state))
        state = answer.state
    return answer


def rows(*values):
    return np.array([values], np.float32)


def test_without_steps_the_policy_is_left_as_it_is():
    inner = Seen()
    assert wrap(inner, {}) is inner


class TestFrameStack:
    def test_the_first_frame_is_repeated_then_frames_move_up(self, make_batch):
        inner = Seen()
        answer = run(wrap(inner, {"frame_stack": 3}), make_batch, [rows(1, 2), rows(3, 4), rows(5, 6)])
        assert inner.seen[0].tolist() == [[1, 2, 1, 2, 1, 2]]
        assert inner.seen[1].tolist() == [[1, 2, 1, 2, 3, 4]]
        assert inner.seen[2].tolist() == [[1, 2, 3, 4, 5, 6]]
        assert answer.state["inner"]["count"].tolist() == [3]

    def test_zeros_can_stand_before_the_first(self, make_batch):
        inner = Seen()
        run(
            wrap(inner, {"frame_stack": 2, "frame_stack_start": "zeros"}),
            make_batch,
            [rows(1, 2), rows(3, 4)],
        )
        assert [s.tolist() for s in inner.seen] == [[[0, 0, 1, 2]], [[1, 2, 3, 4]]]

    @pytest.mark.parametrize(
        ("axis", "join", "shape"),
        [
            ("last", "concatenate", (4, 4, 6)),
            ("first", "concatenate", (8, 4, 3)),
            ("first", "stack", (2, 4, 4, 3)),
            ("last", "stack", (4, 4, 3, 2)),
        ],
    )
    def test_axis_and_join_decide_the_shape(self, make_batch, axis, join, shape):
        inner, options = Seen(), {"frame_stack": 2, "frame_stack_axis": axis, "frame_stack_join": join}
        first, second = (np.full((1, 4, 4, 3), value, np.uint8) for value in (1, 2))
        image = DICT["image"]
        run(wrap(inner, options, image), make_batch, [first, second])
        assert inner.seen[1].shape == (1, *shape)
        space = Pipeline(PolicyOptions(**options), SpaceInfo({"task": image}), None).model_spaces.observation["task"]
        assert space.contains(inner.seen[1][0])
        halves = np.split(inner.seen[1][0], 2, axis=0 if axis == "first" else -1)
        assert [half.max() for half in halves] == [1, 2]

    def test_dict_observations_are_stacked_entry_by_entry(self, make_batch):
        inner = Seen()
        frame = {"image": np.ones((1, 4, 4, 3), np.uint8), "joints": rows(1, 2)}
        run(wrap(inner, {"frame_stack": 2}, DICT), make_batch, [frame])
        assert inner.seen[0]["image"].shape == (1, 4, 4, 6)
        assert inner.seen[0]["joints"].tolist() == [[1, 2, 1, 2]]

    def test_a_scalar_has_no_axis_to_concatenate(self):
        with pytest.raises(InputError, match="it has no axis; use frame_stack_join: stack"):
            wrap(Seen(), {"frame_stack": 2}, spaces.Discrete(4))

    def test_scalars_can_be_stacked(self, make_batch):
        inner = Seen()
        options = {"frame_stack": 2, "frame_stack_join": "stack"}
        run(wrap(inner, options, spaces.Discrete(4)), make_batch, [np.array([1]), np.array([3])])
        assert inner.seen[1].tolist() == [[1, 3]]


class TestNormalize:
    def test_hand_computed(self, make_batch):
        inner = Seen(memory=False)
        options = {"normalize": {"mean": [1, 0], "var": [4, 1], "epsilon": 0, "clip": 2}}
        wrap(inner, options).act(make_batch(rows(3, 7)))
        assert inner.seen[0].tolist() == [[1.0, 2.0]]
        assert inner.seen[0].dtype == np.float32

    def test_defaults_are_those_of_vec_normalize(self, make_batch):
        inner = Seen(memory=False)
        wrap(inner, {"normalize": {"mean": [0, 0], "var": [0, 1]}}).act(make_batch(rows(1e-5, 99)))
        assert inner.seen[0] == pytest.approx(np.array([[0.1, 10.0]]), rel=1e-6)

    @pytest.mark.parametrize("kind", ["npz", "npz_std", "json"])
    def test_files(self, tmp_path, make_batch, kind):
        name = "stats." + kind.partition("_")[0]
        if kind == "json":
            (tmp_path / name).write_text(json.dumps({"mean": [1, 0], "var": [4, 1]}))
        elif kind == "npz":
            np.savez(tmp_path / name, mean=[1, 0], var=[4, 1])
        else:
            np.savez(tmp_path / name, mean=[1, 0], std=[2, 1])
        inner = Seen(memory=False)
        wrap(inner, {"normalize": {"file": name, "epsilon": 0}}, base=tmp_path).act(make_batch(rows(3, 7)))
        assert inner.seen[0].tolist() == [[1, 7]]

    def test_entries_of_a_dict(self, tmp_path, make_batch):
        np.savez(tmp_path / "s.npz", **{"joints.mean": [1, 1], "joints.var": [4, 4]})
        inner = Seen(memory=False)
        policy = wrap(inner, {"normalize": {"file": "s.npz"}}, DICT, base=tmp_path)
        policy.act(make_batch({"image": np.ones((1, 4, 4, 3), np.uint8), "joints": rows(3, 5)}))
        assert inner.seen[0]["joints"] == pytest.approx(np.array([[1, 2]]))
        assert inner.seen[0]["image"].dtype == np.uint8

    def test_key_points_at_an_entry(self, make_batch):
        inner = Seen(memory=False)
        policy = wrap(inner, {"normalize": {"mean": [1, 1], "var": [4, 4], "key": "joints"}}, DICT)
        policy.act(make_batch({"image": np.ones((1, 4, 4, 3), np.uint8), "joints": rows(3, 5)}))
        assert inner.seen[0]["joints"] == pytest.approx(np.array([[1, 2]]))

    def test_statistics_of_one_frame_serve_a_stack(self, make_batch):
        inner, stats = Seen(), {"mean": [1, 2], "var": [1, 4]}
        run(wrap(inner, {"frame_stack": 2, "normalize": stats}), make_batch, [rows(1, 2), rows(2, 4)])
        assert inner.seen[1] == pytest.approx(np.array([[0, 0, 1, 1]]), abs=1e-6)

    @pytest.mark.parametrize(
        ("options", "observation", "message"),
        [
            (
                {"mean": [0] * 3, "var": [1] * 3},
                BOX,
                r"statistics have shape \(3,\), the observation .* has \(2,\)",
            ),
            ({"mean": [0, 0], "var": [1, 1]}, DICT, "say which entry with normalize.key"),
            ({"mean": [0], "var": [1], "key": "x"}, DICT, 'no observation entry "x"'),
            ({"mean": [0, 0], "var": [1, -1]}, BOX, "finite and not negative"),
            ({"file": "nothing.npz"}, BOX, "options.normalize.file: no file"),
        ],
    )
    def test_misfits_are_named(self, tmp_path, options, observation, message):
        with pytest.raises(InputError, match=message):
            wrap(Seen(), {"normalize": options}, observation, base=tmp_path)

    def test_either_numbers_or_a_file(self):
        for bad in ({}, {"mean": [0]}, {"mean": [0], "var": [1], "file": "x"}):
            with pytest.raises(ValidationError, match="give either file, or both mean and var"):
                PolicyOptions(normalize=bad)

    @pytest.mark.parametrize("text", ["[1]", "{", '{"mean": [1]}'])
    def test_bad_json_is_named(self, tmp_path, text):
        (tmp_path / "s.json").write_text(text)
        with pytest.raises(InputError, match=r"s\.json"):
            wrap(Seen(), {"normalize": {"file": "s.json"}}, base=tmp_path)


class TestActionScale:
    def test_scale_and_offset(self, make_batch):
        policy = wrap(Seen(memory=False), {"action_scale": {"scale": 4.0, "offset": -1.0}})
        assert policy.act(make_batch(rows(0, 0))).actions.tolist() == [[1.0]]

    def test_to_space_uses_the_bounds_of_each_row_s_task(self, make_batch):
        actions = {"a": spaces.Box(0, 4, (1,)), "b": spaces.Box(-10, 10, (1,))}
        info = SpaceInfo(dict.fromkeys(actions, BOX), actions)
        policy = Pipeline(PolicyOptions(action_scale={"to_space": True}), info, None).around(Seen(memory=False))
        found = policy.act(make_batch(np.zeros((3, 2)), tasks=["a", "b", "a"])).actions
        assert found.tolist() == [[3], [5], [3]]
        assert found.dtype == np.float32

    def test_ends_of_the_range_stay_inside(self, make_batch):
        space = spaces.Box(np.float32(-0.1), np.float32(0.3), (1,))

        class Ends(Policy):
            def act(self, batch):
                return np.array([[-1.0], [1.0], [7.0]], np.float32)

        policy = wrap(Ends(), {"action_scale": {"to_space": True, "clip": (-1, 1)}}, action=space)
        found = policy.act(make_batch(np.zeros((3, 2)))).actions
        assert [a.item() for a in found] == [space.low.item(), space.high.item(), space.high.item()]

    def test_chunks_are_scaled_too(self, make_batch):
        policy = wrap(Seen((5, 2), memory=False), {"action_scale": {"to_space": True}}, action=spaces.Box(0, 4, (2,)))
        found = policy.act(make_batch(rows(0, 0))).actions
        assert found.shape == (1, 5, 2)
        assert (found == 3).all()

    @pytest.mark.parametrize(
        ("options", "action", "message"),
        [
            ({"to_space": True}, spaces.Box(-np.inf, np.inf, (1,)), "needs a bounded action space"),
            ({"scale": 2.0}, spaces.Discrete(3), "needs a Box action space"),
            ({"scale": [1.0, 2.0, 3.0]}, spaces.Box(-1, 1, (2,)), r"does not fit the action shape \(2,\)"),
        ],
    )
    def test_misfits_are_named(self, options, action, message):
        with pytest.raises(InputError, match=message):
            wrap(Seen(), {"action_scale": options}, action=action)

    def test_to_space_excludes_scale(self):
        with pytest.raises(ValidationError, match="leave out scale and offset"):
            PolicyOptions(action_scale={"to_space": True, "scale": 2.0})


def test_staged_policies_must_do_it_themselves():
    class Staged(StagedPolicy):
        stages = (Stage("plan"), Stage("move"))

        def forward(self, stage, batch):
            return StageOutput([])

    assert isinstance(wrap(Staged(), {}), Staged)
    with pytest.raises(InputError, match="Staged has stages plan, move and must do these itself"):
        wrap(Staged(), {"frame_stack": 2})


class Linear(Policy):
    """A little network with memory and noise, for the laws."""

    def reset(self, trials):
        return np.zeros((len(trials), 2))

    def act(self, batch):
        x = np.concatenate([batch.observation["joints"], batch.observation["image"].reshape(len(batch), -1)], axis=1)
        hidden = 0.5 * batch.state + np.tanh((x.astype(np.float64) * 1e-3).cumsum(axis=1)[:, -2:])
        return Actions(np.tanh(hidden + 0.1 * batch.normal((2,))), hidden)


class TestLaws(PolicyConformance):
    observation_space = DICT
    action_space = spaces.Box(-2, 6, (2,))

    def make(self):
        np_stats = {"mean": [0.5, 0.1], "var": [2.0, 3.0], "key": "joints"}
        options = {"frame_stack": 3, "normalize": np_stats, "action_scale": {"to_space": True}}
        return wrap(Linear(), options, DICT, self.action_space)


# Observation order


NESTED = spaces.Dict(
    {
        "tracking": spaces.Box(-5, 5, (2, 3)),
        "goal": spaces.Box(-5, 5, (2,), np.float64),
        "more": spaces.Dict({"tip": spaces.Box(-5, 5, (1,)), "kind": spaces.Discrete(3)}),
    }
)


def test_entries_are_put_together_flat_in_the_order_that_was_asked_for(make_batch):
    inner = Seen(memory=False)
    policy = wrap(inner, {"observation_order": ["goal", "more.tip", "tracking"]}, NESTED)
    tracking = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    goal = np.array([[20.0, 21.0], [22.0, 23.0]])
    policy.act(
        make_batch({"tracking": tracking, "goal": goal, "more": {"tip": np.float32([[30], [31]]), "kind": goal}})
    )
    assert inner.seen[0].dtype == np.float32
    np.testing.assert_array_equal(inner.seen[0], [[20, 21, 30, 0, 1, 2, 3, 4, 5], [22, 23, 31, 6, 7, 8, 9, 10, 11]])


def test_the_order_decides_the_space_that_the_model_sees():
    info = SpaceInfo({"task": NESTED}, {"task": BOX})
    space = Pipeline(PolicyOptions(observation_order=["tracking", "goal"]), info, None).model_spaces.observation["task"]
    assert (space.shape, space.dtype) == ((8,), np.float32)


@pytest.mark.parametrize(
    ("names", "space", "message"),
    [
        (
            ["goall"],
            NESTED,
            r'observation_order: the observation of task "task" has no "goall" \(it has goal, more, tracking\)',
        ),
        (["goal"], BOX, 'observation_order: the observation of task "task" has no "goal" \\(it is Box'),
        (
            ["more.kind"],
            NESTED,
            r'observation_order: "more\.kind" of task "task" is Discrete\(3\); expected an array of numbers',
        ),
        (["more"], NESTED, 'observation_order: "more" of task "task" is Dict'),
    ],
)
def test_entries_that_are_not_there(names, space, message):
    with pytest.raises(InputError, match=message):
        wrap(Seen(), {"observation_order": names}, space)
