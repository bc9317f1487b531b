"""Meta-World: a trial is its variation, success counts at any step, and frames are drawn when somebody looks."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawing import needs_frames
from examining import by_key, digests

from proctor import InputError, Run, config_from_dict, run_evaluation
from proctor.config import ConfigError
from proctor.policies.protocol import Batch, SpaceInfo
from proctor.runs.resume import resume
from proctor.suites import make_env
from proctor.suites.metaworld.agents import Expert
from proctor.suites.metaworld.env import MetaworldEnv, variations
from proctor.suites.metaworld.suite import MetaworldOptions, MetaworldSuite
from proctor.suites.metaworld.tasks import GROUPS, INSTRUCTIONS, TEXT_BYTES
from proctor.suites.offscreen import Viewer
from proctor.testing import EnvConformance
from proctor.texts import bytes_to_text
from proctor_host.trials import Trial

metaworld = pytest.importorskip("metaworld", reason="the extra `metaworld` is not installed")
env_dict = pytest.importorskip("metaworld.env_dict")

LOOKER = Path(__file__).parents[2] / "support" / "lookers.py"
SMALL = {"observation": "images", "image_height": 32, "image_width": 24, "video_height": 48, "video_width": 48}
STILL = np.zeros(4, np.float32)


def options(**given: Any) -> MetaworldOptions:
    return MetaworldOptions.model_validate({"task": "reach-v3", "variations": 5, **given})


@pytest.fixture
def make() -> Iterator[Callable[..., MetaworldEnv]]:
    made: list[MetaworldEnv] = []

    def build(**given: Any) -> MetaworldEnv:
        made.append(MetaworldEnv(options(**given)))
        return made[-1]

    yield build
    for env in made:
        env.close()


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[int, int]]]:
    """Every frame that is drawn in this process: camera and size."""
    needs_frames()
    frames: list[tuple[str, tuple[int, int]]] = []
    draw = Viewer.draw

    def counted(self: Viewer, camera: str, size: tuple[int, int]) -> np.ndarray:
        frames.append((camera, size))
        return draw(self, camera, size)

    monkeypatch.setattr(Viewer, "draw", counted)
    return frames


def examination(folder: Path, **keys: Any) -> dict[str, Any]:
    """A policy that looks every third step, on two tasks."""
    tasks = [{"suite": "metaworld", "options": {"task": task, "variations": 5, **SMALL}} for task in ("reach", "push")]
    return {
        "agents": [{"name": "looker", "policy": f"{LOOKER}:Looker"}], "tasks": tasks, "n_trials": 2,
        "max_episode_steps": 7, "num_parallel": 1, "workers": "inline", "scoring": "success",
        "output_root": str(folder), **keys,
    }  # fmt: skip


def run(folder: Path, **keys: Any) -> Run:
    found = run_evaluation(config_from_dict(examination(folder, **keys)))
    assert all(result.outcome.scored for result in found.results()), [result.error for result in found.results()]
    return found


class TestState(EnvConformance):
    steps = 8

    def make(self) -> MetaworldEnv:
        return MetaworldEnv(options())


class TestImages(EnvConformance):
    steps = 3

    def make(self) -> MetaworldEnv:
        needs_frames()
        return MetaworldEnv(options(**SMALL, cameras=["corner2", "gripperPOV"], privileged=True))


def test_the_tasks_and_groups_are_meta_worlds() -> None:
    assert list(INSTRUCTIONS) == list(env_dict.ALL_V3_ENVIRONMENTS)
    assert list(GROUPS["MT10"]) == list(env_dict.MT10_V3)
    assert len(GROUPS["MT50"]) == 50
    assert len(set(INSTRUCTIONS.values())) == 50
    assert max(len(text.encode()) for text in INSTRUCTIONS.values()) <= TEXT_BYTES


@pytest.mark.parametrize("task", ["box-close-v3", "lever-pull-v3"])
def test_variations_are_those_of_the_benchmark(task: str) -> None:
    """The first draws objects that must keep apart, the second looks at its objects while it draws."""
    expected = [pickle.loads(t.data)["rand_vec"] for t in metaworld.MT1(task, seed=7).train_tasks]
    np.testing.assert_array_equal(variations(task, 7, 50), np.array(expected))
    np.testing.assert_array_equal(variations(task, 7, 3), np.array(expected[:3]))


def test_a_trial_is_its_variation_whatever_the_seed(make: Callable[..., MetaworldEnv]) -> None:
    env = make()
    first = env.reset(1, 2)
    assert env.constants() == {"variation": 2, "instruction": "move the hand to the goal"}
    np.testing.assert_array_equal(env.reset(99, 7), first)
    assert env.constants()["variation"] == 2
    assert (env.reset(1, 3) != first).any()


def test_a_hidden_goal_is_zero(make: Callable[..., MetaworldEnv]) -> None:
    shown, hidden = make().reset(0, 0), make(goal_observable=False).reset(0, 0)
    np.testing.assert_array_equal(hidden[:-3], shown[:-3])
    assert shown[-3:].all()
    assert not hidden[-3:].any()


def test_the_step_limit_is_the_configs_not_the_simulators(make: Callable[..., MetaworldEnv]) -> None:
    env = make()
    assert env.max_steps == 500
    env.reset(0, 0)
    env._world.curr_path_length = 499
    assert [env.step(STILL).truncated for _ in range(3)] == [False] * 3


def test_a_diverged_simulation_is_an_error(make: Callable[..., MetaworldEnv]) -> None:
    env = make()
    env.reset(0, 0)
    env._world.get_endeff_pos = lambda: np.full(3, np.nan)
    with pytest.raises(FloatingPointError, match="the simulation diverged"):
        env.step(STILL)


def test_images_come_with_state_and_instruction(make: Callable[..., MetaworldEnv]) -> None:
    needs_frames()
    env = make(**SMALL, cameras=["corner2", "topview"], privileged=True)
    seen = env.reset(0, 1)
    assert list(seen) == ["image/corner2", "image/topview", "state", "instruction", "privileged"]
    assert seen["image/corner2"].shape == (32, 24, 3)
    assert seen["image/corner2"].std() > 10
    assert (seen["image/corner2"] != seen["image/topview"]).any()
    assert bytes_to_text(seen["instruction"]) == "move the hand to the goal"
    np.testing.assert_array_equal(seen["state"], seen["privileged"][:4].astype(np.float32))
    assert env.render().shape == (48, 48, 3)


def test_upright_turns_what_the_corner_cameras_see(make: Callable[..., MetaworldEnv]) -> None:
    needs_frames()
    cameras = ["corner2", "topview"]
    turned, raw = (make(**SMALL, cameras=cameras, upright=upright).reset(0, 0) for upright in (True, False))
    np.testing.assert_array_equal(turned["image/corner2"], np.rot90(raw["image/corner2"], 2))
    np.testing.assert_array_equal(turned["image/topview"], raw["image/topview"])


def test_shadows_are_drawn_where_they_are_asked_for(make: Callable[..., MetaworldEnv]) -> None:
    needs_frames()
    plain, shadows = (make(**SMALL, shadows=on).reset(0, 0)["image/corner2"] for on in (False, True))
    assert (shadows != plain).any()


def test_what_is_seen_after_unseen_steps_is_what_is_always_seen(make: Callable[..., MetaworldEnv]) -> None:
    needs_frames()
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (6, 4)).astype(np.float32)
    lazy, eager = make(**SMALL), make(**SMALL)
    for env in (lazy, eager):
        env.reset(0, 0)
    skipped = [lazy.step_unseen(action) for action in actions[:-1]]
    always = [eager.step(action) for action in actions[:-1]]
    assert all(step.observation is None for step in skipped)
    assert [step.reward for step in skipped] == [step.reward for step in always]
    last, expected = lazy.step(actions[-1]), eager.step(actions[-1])
    for key, value in expected.observation.items():
        np.testing.assert_array_equal(last.observation[key], value)


def test_frames_are_drawn_when_the_policy_asks(tmp_path: Path, drawn: list[Any]) -> None:
    """Seven steps in chunks of three: the policy looks before steps 1, 4 and 7, and nobody looks at the end."""
    tasks = examination(tmp_path)["tasks"][:1]
    run(tmp_path, tasks=tasks, n_trials=1)
    assert drawn == [("corner2", (32, 24))] * 3


def test_warm_up_steps_are_not_looked_at(tmp_path: Path, drawn: list[Any]) -> None:
    tasks = [{**examination(tmp_path)["tasks"][0], "wait_steps": 4}]
    run(tmp_path, tasks=tasks, n_trials=1, max_episode_steps=3)
    assert len(drawn) == 2, "one at the reset, one when the warm-up is over"


def test_recorded_observations_are_drawn_at_every_step(tmp_path: Path, drawn: list[Any]) -> None:
    tasks = examination(tmp_path)["tasks"][:1]
    seen, unseen = (
        run(tmp_path / str(keep), tasks=tasks, n_trials=1, record={"level": "series", "observations": keep})
        for keep in (True, False)
    )
    assert len(drawn) == 8 + 3
    arrays, fewer = (found.episode(next(iter(found.results()))).arrays for found in (seen, unseen))
    assert arrays["observations.image/corner2"].shape == (8, 32, 24, 3)
    for name, array in fewer.items():
        np.testing.assert_array_equal(array, arrays[name], err_msg=f"{name} depends on what is recorded")


def test_a_video_draws_its_own_frames_and_shares_those_it_can(tmp_path: Path, drawn: list[Any]) -> None:
    task = examination(tmp_path)["tasks"][0]
    record = {"level": "video", "video": {"every": 3}}
    run(tmp_path / "own", tasks=[task], n_trials=1, record=record)
    assert sorted(drawn) == [("corner2", (32, 24))] * 3 + [("corner2", (48, 48))] * 3
    drawn.clear()
    same = {**task["options"], "image_height": 48, "image_width": 48}
    run(tmp_path / "same", tasks=[{**task, "options": same}], n_trials=1, record=record)
    assert drawn == [("corner2", (48, 48))] * 3


def test_a_parallel_run_equals_a_serial_one_that_was_interrupted(tmp_path: Path) -> None:
    needs_frames()
    parallel = run(tmp_path / "parallel", num_parallel=3, workers=2)
    serial = run(tmp_path / "serial", n_trials=1)
    resume(serial.path, ["n_trials=2"])
    assert digests(serial) == digests(parallel)
    assert len(set(digests(serial).values())) == 4


def test_success_at_any_step_counts_and_ends_the_trial(tmp_path: Path) -> None:
    raw = {
        "agents": [{"name": "expert", "policy": "metaworld/expert"}, {"policy": "zero"}],
        "tasks": [
            {"suite": "metaworld", "options": {"group": "MT1", "task": "reach"}},
            {"suite": "metaworld", "name": "on", "stop_on_success": False, "options": {"task": "reach"}},
        ],
        "n_trials": 2, "max_episode_steps": 60, "workers": "inline", "output_root": str(tmp_path),
    }  # fmt: skip
    results = by_key(run_evaluation(config_from_dict(raw)))
    for index in range(2):
        stopped, on = (results[f"expert/{task}/{index:04d}"] for task in ("reach-v3", "on"))
        assert stopped.success
        assert stopped.steps_total == stopped.steps_to_success == on.steps_to_success
        assert on.steps_total == 60
        assert not results[f"zero/reach-v3/{index:04d}"].success


def test_the_expert_needs_to_see() -> None:
    suite = MetaworldSuite()

    def spaces(**given: Any) -> SpaceInfo:
        return SpaceInfo({}, {"t": None}, {"t": lambda: suite.briefing(options(**given))})

    with pytest.raises(InputError, match='task "t" shows images only: set privileged: true'):
        Expert(spaces(observation="images"))
    with pytest.raises(InputError, match='task "t" hides it: set goal_observable: true'):
        Expert(spaces(goal_observable=False))
    with pytest.raises(InputError, match='task "t" is none: use suite: metaworld'):
        Expert(SpaceInfo({}, {"t": None}))
    with pytest.raises(InputError, match="given noise -1"):
        Expert(spaces(), noise=-1)


def test_the_expert_reads_its_row_whatever_the_form(make: Callable[..., MetaworldEnv]) -> None:
    suite = MetaworldSuite()
    briefing = {"a": lambda: suite.briefing(options()), "b": lambda: suite.briefing(options(task="push-v3"))}
    expert = Expert(SpaceInfo({}, {"a": None, "b": None}, briefing))
    trials = [Trial("e", "a", 0, 1), Trial("e", "b", 0, 1)]
    rows = np.stack([make().reset(0, 0), make(task="push-v3").reset(0, 0)])
    rngs = [trial.policy_rng() for trial in trials]
    plain = expert.act(Batch(rows, None, rngs, trials))
    np.testing.assert_array_equal(expert.act(Batch({"privileged": rows}, None, rngs, trials)), plain)
    assert plain.dtype == np.float32
    assert plain.shape == (2, 4)
    assert (plain[0] != plain[1]).any()


def test_a_group_is_written_out() -> None:
    raw = {
        "agents": [{"policy": "random"}],
        "tasks": [
            {"suite": "metaworld", "n_trials": 3, "options": {"group": "MT10", "observation": "images"}},
            {"suite": "metaworld", "name": "state", "success_rule": "at_end", "options": {"group": "mt10"}},
        ],
    }
    cfg = config_from_dict(raw)
    assert [task.name for task in cfg.tasks] == [*GROUPS["MT10"], *(f"state-{task}" for task in GROUPS["MT10"])]
    assert {task.n_trials for task in cfg.tasks[:10]} == {3}
    assert {task.success_rule for task in cfg.tasks[:10]} == {"ever"}
    assert {task.success_rule for task in cfg.tasks[10:]} == {"at_end"}
    assert all(task.stop_on_success for task in cfg.tasks)
    assert {task.options["observation"] for task in cfg.tasks[:10]} == {"images"}
    assert config_from_dict(cfg.model_dump(mode="json")) == cfg
    assert cfg.tasks[0].options["shadows"] is False


def test_several_tasks_share_an_entry() -> None:
    entry = {"suite": "metaworld", "options": {"task": ["push", "reach-v3"], "shadows": True}}
    cfg = config_from_dict({"agents": [{"policy": "random"}], "tasks": [entry]})
    assert [task.name for task in cfg.tasks] == ["push-v3", "reach-v3"]
    assert all(task.options["shadows"] for task in cfg.tasks)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"group": "MT11"}, 'found group "MT11"; expected one of MT1, MT10, MT50; did you mean "MT10"?'),
        ({"group": "MT1"}, "group: MT1 is one task; name it with task"),
        ({"group": "MT50", "task": "reach"}, "found both group: MT50 and task: reach; keep one"),
        ({"group": "MT10", "camera": "top"}, "unknown key"),
        ({"task": "reech"}, 'found "reech"; expected one of the 50 tasks of Meta-World; did you mean "reach-v3"?'),
        ({}, "task: missing"),
        ({"task": "reach", "cameras": []}, "at least 1 entry"),
        ({"task": "reach", "cameras": ["corner", "corner"]}, "found corner more than once"),
        ({"task": "reach", "cameras": ["front"]}, "expected one of topview, corner, corner2"),
        ({"task": "reach", "image_height": 8}, "at least 16"),
        ({"task": "reach", "privileged": True}, "privileged: true is for observation: images"),
        ({"task": "reach", "variations": 0}, "at least 1"),
    ],
)
def test_wrong_options_are_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        config_from_dict({"agents": [{"policy": "random"}], "tasks": [{"suite": "metaworld", "options": given}]})
    assert message in str(error.value)


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cfg = config_from_dict(
        {
            "agents": [{"policy": "random"}],
            "tasks": [{"suite": "metaworld", "options": {"task": "push", "variations": 1}}],
        }
    )
    monkeypatch.setitem(sys.modules, "metaworld.env_dict", None)
    with pytest.raises(InputError, match=r'the metaworld suite needs the package "metaworld"; .*proctor\[metaworld\]'):
        make_env(cfg.tasks[0].suite, cfg.tasks[0].options, render=False, worlds=1)
