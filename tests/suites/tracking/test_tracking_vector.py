"""The vector environment: the same episodes as the batch environment, resets to given states, and its refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tracking_worlds import ALL_GROUPS, EVERYTHING_RANDOM, batch_env, bytes_of, g1, options, short_motions, wiggle

from proctor.errors import InputError
from proctor.suites.autoreset import AutoresetMode
from proctor.suites.gymnasium.vector import VectorEnvAdapter
from proctor.suites.tracking.vector import TrackingVectorEnv


@pytest.fixture
def vector():
    made = []

    def make(n: int, autoreset_mode: AutoresetMode | None = None, **keys: Any) -> TrackingVectorEnv:
        made.append(TrackingVectorEnv(g1(), short_motions(), n, options(**keys), autoreset_mode=autoreset_mode))
        return made[-1]

    yield make
    for each in made:
        each.close()


def actions(n: int, step: int) -> np.ndarray:
    return np.stack([wiggle(world, step) for world in range(n)])


@pytest.mark.parametrize("keys", [{}, EVERYTHING_RANDOM], ids=["plain", "randomised"])
def test_it_is_the_batch_environment_in_other_clothes(vector, keys):
    v, b = vector(3, observations=ALL_GROUPS, **keys), batch_env(3, observations=ALL_GROUPS, **keys)
    seeds, motions = [4, 5, 6], [1, 2, 0]
    batch = b.reset([0, 1, 2], seeds, motions)
    observation, _ = v.reset(seed=seeds, options={"motions": motions})
    for step in range(13):
        for world in range(3):
            assert bytes_of({name: array[world] for name, array in observation.items()}) == bytes_of(batch[world])
        observation, rewards, terminated, truncated, infos = v.step(actions(3, step))
        answers = b.step(dict(enumerate(actions(3, step))))
        batch = [answers[world].observation for world in range(3)]
        assert rewards.tolist() == [answers[w].reward for w in range(3)]
        assert terminated.tolist() == [answers[w].terminated for w in range(3)]
        assert truncated.tolist() == [answers[w].truncated for w in range(3)]
        assert infos["success"].tolist() == [answers[w].success for w in range(3)]
    assert truncated.tolist() == [False, True, False]
    b.close()


def test_observations_and_actions_are_in_their_spaces(vector):
    v = vector(2, observations=ALL_GROUPS)
    observation, _ = v.reset(seed=0)
    assert observation in v.observation_space
    observation, *_ = v.step(actions(2, 0))
    assert observation in v.observation_space
    assert actions(2, 0) in v.action_space
    assert v.metadata["autoreset_mode"] is AutoresetMode.DISABLED


def test_worlds_start_from_target_states(vector):
    v, rng = vector(3), np.random.default_rng(0)
    qpos = np.tile(g1().default_qpos, (3, 1)) + 0.01 * rng.normal(size=(3, 36)) * (np.arange(36) > 6)
    qvel = 0.1 * rng.normal(size=(3, 35))
    v.reset(seed=0, options={"target_states": {"qpos": qpos, "qvel": qvel}, "motions": [0, 1, 2]})
    np.testing.assert_array_equal(v.worlds.qpos, qpos)
    np.testing.assert_array_equal(v.worlds.qvel, qvel)
    parts = {
        "root_pos": qpos[:, :3], "root_quat": qpos[:, 3:7], "joint_pos": qpos[:, 7:],
        "root_lin_vel": qvel[:, :3], "root_ang_vel": qvel[:, 3:6], "joint_vel": qvel[:, 6:],
    }  # fmt: skip
    v.reset(seed=1)
    v.reset(seed=0, options={"target_states": parts})
    np.testing.assert_array_equal(v.worlds.qpos, qpos)
    np.testing.assert_array_equal(v.worlds.qvel, qvel)
    for name in ("joint_pos", "joint_vel", "root_pos", "root_quat"):
        np.testing.assert_array_equal(getattr(v, name), parts[name])
    v.reset(seed=0, options={"target_states": {"qpos": qpos}})
    np.testing.assert_array_equal(v.worlds.qvel, 0)


@pytest.mark.parametrize("chosen", [{"worlds": [2, 0]}, {"reset_mask": [True, False, True]}])
def test_some_worlds_are_reset_to_states_and_the_others_go_on(vector, chosen):
    v = vector(3, observations=["qpos"])
    v.reset(seed=0)
    v.step(actions(3, 0))
    before = v.worlds.qpos.copy()
    qpos = np.tile(g1().default_qpos, (3, 1)) + np.arange(3)[:, None] * (np.arange(36) < 1)
    observation, _ = v.reset(seed=3, options={**chosen, "target_states": {"qpos": qpos}})
    np.testing.assert_array_equal(v.worlds.qpos[[0, 2]], qpos[[0, 2]])
    np.testing.assert_array_equal(v.worlds.qpos[1], before[1])
    np.testing.assert_array_equal(observation["qpos"], v.worlds.qpos)
    assert v.worlds.frame.tolist() == [0, 1, 0]


def test_rows_for_the_worlds_that_are_reset_come_in_their_order(vector):
    v = vector(3)
    v.reset(seed=0)
    qpos = np.tile(g1().default_qpos, (2, 1))
    qpos[:, 0] = 7, 8
    v.reset(seed=0, options={"worlds": [2, 0], "target_states": {"qpos": qpos}, "motions": ["wave", "squat"]})
    assert v.root_pos[[2, 0], 0].tolist() == [7, 8]
    assert v.worlds.motion[[2, 0]].tolist() == [1, 0]


def test_a_motion_may_be_entered_at_any_frame(vector):
    v = vector(2, observations=["frame", "state"])
    observation, infos = v.reset(seed=0, options={"motions": [1, 0], "frames": [12, 0]})
    np.testing.assert_array_equal(v.worlds.qpos[0], short_motions().reference(1).qpos[12])
    assert observation["frame"].tolist() == [13, 1]
    assert infos["frame"].tolist() == [12, 0]


def test_motions_are_drawn_with_the_library_s_weights(vector):
    library = short_motions()
    v = vector(8)
    try:
        library.update_sampling_weights([0, 1, 0])
        v.reset(seed=0)
        assert v.worlds.motion.tolist() == [1] * 8
    finally:
        library.update_sampling_weights([1, 1, 1])
    v.reset(seed=0)
    drawn = v.worlds.motion.tolist()
    assert len(set(drawn)) > 1
    v.reset(seed=0)
    assert v.worlds.motion.tolist() == drawn
    v.reset()
    assert v.worlds.motion.tolist() != drawn


def test_an_ended_world_goes_on_and_stays_truncated(vector):
    v = vector(2)
    v.reset(seed=0, options={"motions": [2, 1]})
    for step in range(15):
        *_, truncated, _ = v.step(actions(2, step))
    assert truncated.tolist() == [True, False]


def test_next_step_resets_an_ended_world_in_the_step_after(vector):
    v = vector(2, AutoresetMode.NEXT_STEP, observations=["qpos", "frame"])
    v.reset(seed=0, options={"motions": [2, 1]})
    for step in range(11):
        observation, _, _, truncated, _ = v.step(actions(2, step))
    assert truncated.tolist() == [True, False]
    assert v.worlds.frame.tolist() == [11, 11]
    observation, rewards, terminated, truncated, _ = v.step(actions(2, 11))
    assert v.worlds.frame.tolist() == [0, 12]
    assert rewards[0] == 0 < rewards[1]
    assert not terminated.any()
    assert not truncated.any()
    np.testing.assert_array_equal(observation["qpos"], v.worlds.qpos)
    v.step(actions(2, 12))
    assert v.worlds.frame.tolist() == [1, 13]


def test_a_broken_simulation_terminates_its_world(vector, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo logs its warning in the current folder
    v = vector(2)
    v.reset(seed=0)
    qvel = np.zeros((2, 35))
    qvel[0] = 1e12
    v.reset(seed=0, options={"target_states": {"qpos": np.tile(g1().default_qpos, (2, 1)), "qvel": qvel}})
    _, rewards, terminated, truncated, infos = v.step(actions(2, 0))
    assert infos["diverged"].tolist() == terminated.tolist() == [True, False]
    assert rewards[0] == 0
    assert not truncated.any()
    assert not infos["success"][0]


def test_it_can_be_lent_to_the_engine_through_the_gymnasium_adapter(vector):
    lent = VectorEnvAdapter(vector(2, observations=["qpos"]))
    first = lent.reset([0, 1], [3, 4], [0, 1])
    again = lent.reset([1], [4], [0])
    assert bytes_of(again[0]) == bytes_of(first[1])
    assert lent.partial_reset
    assert set(lent.step({0: wiggle(0, 0), 1: wiggle(1, 0)})) == {0, 1}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"target_state": {}}, 'unknown option "target_state"; did you mean "target_states"?'),
        ({"worlds": [0], "reset_mask": [True, False]}, "give `worlds` or `reset_mask`, not both"),
        ({"worlds": [0, 0]}, "worlds [0, 0]; expected distinct numbers below 2"),
        ({"worlds": [2]}, "worlds [2]; expected distinct numbers below 2"),
        ({"reset_mask": [True]}, "reset_mask has shape (1,); expected (2,)"),
        ({"motions": [0]}, "motions [0]; expected 2 names or numbers below 3"),
        ({"motions": [0, 3]}, "motions [0, 3]; expected 2 names or numbers below 3"),
        ({"motions": ["wave", "squad"]}, 'no motion "squad"; did you mean "squat"?'),
        ({"target_states": {"joint_pos": np.zeros((2, 29))}}, "target_states: root_pos is missing"),
        ({"target_states": {"qpos": np.zeros((2, 35))}}, "target_states: qpos has shape (2, 35); expected (2, 36)"),
        ({"target_states": {"qpos": np.full((2, 36), np.nan)}}, "target_states: qpos has values that are not finite"),
    ],
)
def test_wrong_resets_are_refused_with_a_way_out(vector, given, message):
    v = vector(2)
    v.reset(seed=0)
    with pytest.raises(InputError) as refused:
        v.reset(seed=0, options=given)
    assert message in str(refused.value)


def test_other_refusals(vector):
    v = vector(2)
    with pytest.raises(InputError, match="reset the environment before the first step"):
        v.step(actions(2, 0))
    with pytest.raises(InputError, match="the first reset must be of all worlds"):
        v.reset(seed=0, options={"worlds": [1]})
    with pytest.raises(InputError, match="found 3 seeds for 2 worlds"):
        v.reset(seed=[1, 2, 3])
    v.reset(seed=0)
    with pytest.raises(ValueError, match="the action of world 1 is not finite"):
        v.step(np.array([np.zeros(29), np.full(29, np.nan)]))
    with pytest.raises(InputError, match="SAME_STEP is not offered"):
        vector(1, AutoresetMode.SAME_STEP)
