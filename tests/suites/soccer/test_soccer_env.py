"""The suite gives what the competition gives: scores to the last bit, observations, seeds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import official_soccer
import pytest
from examining import by_key, digests
from official_soccer import STARTS, WEIGHTS, official

from proctor import Run, config_from_dict
from proctor.plan.plan import Plan
from proctor.runs.resume import resume
from proctor.suites.offscreen import RenderingUnavailable, graphics_context
from proctor.suites.soccer.env import SoccerEnv
from proctor.suites.soccer.options import SoccerOptions
from proctor.suites.soccer.tasks import BROKEN, NAMES, OFFICIAL, TASKS, match_seed
from proctor.testing import EnvConformance

pytest.importorskip("sai_mujoco", reason="the extra `soccer` is not installed")

STARTED = f"{official_soccer.__file__}:StartedSuite"
Examine = Callable[..., Run]


def make(**options: Any) -> SoccerEnv:
    return SoccerEnv(SoccerOptions.model_validate(options))


def soccer(task: str, suite: str = "soccer", **options: Any) -> dict[str, Any]:
    return {"suite": suite, "name": task, "options": {"task": task, **options}}


class TestGoalie(EnvConformance):
    steps = 8

    def make(self) -> SoccerEnv:
        return make(task="goalie_penalty_kick")


class TestTarget(EnvConformance):
    steps = 8

    def make(self) -> SoccerEnv:
        return make(task="kick_to_target", preprocessor="official", match_seeds={"master": 42})


# What the competition pays --------------------------------------------------------------------------------------------


def paid(arrays: dict[str, np.ndarray], weights: dict[str, float]) -> float:
    """The score from a record, without a simulator."""
    total = 0.0
    for name in arrays["reward_terms"]:
        if name in weights:
            total += float(arrays[f"term/{name}"][-1]) * weights[str(name)]
    return total + 1.0 * weights["steps"]


def check_scores(run: Run, limit: int, start: str | None = None) -> list[official_soccer.Played]:
    """Every trial of a run against the plain loop with the recorded actions."""
    played = []
    for result in run.results():
        arrays, task = run.episode(result).arrays, TASKS[result.trial.task]
        seed, begin = result.trial.seed, None if start is None else STARTS[start]
        played.append(official(task, seed, list(arrays["actions"]), limit, begin))
        assert paid(dict(arrays), WEIGHTS[task]) == played[-1].score
        assert result.steps_total == played[-1].steps
        assert bool(arrays["terminals"][-1]) == played[-1].terminated
        assert bool(arrays["truncations"][-1]) == (played[-1].truncated and not played[-1].terminated)
    return played


def test_score_is_the_official_one_to_the_last_bit_when_truncated(examine: Examine) -> None:
    tasks = [soccer(NAMES[task]) for task in OFFICIAL]
    run = examine(agents=[{"policy": "random"}], tasks=tasks, n_trials=1, num_parallel=1, max_episode_steps=12)
    played = check_scores(run, 12)
    assert len(played) == 3
    assert all(p.truncated and not p.terminated for p in played)


@pytest.mark.parametrize("start", ["out", "in"])
def test_score_is_the_official_one_when_the_first_step_ends_the_episode(examine: Examine, start: str) -> None:
    tasks = [soccer(NAMES[task], STARTED, start=start) for task in OFFICIAL]
    run = examine(agents=[{"policy": "random"}], tasks=tasks, n_trials=1, num_parallel=1, max_episode_steps=5)
    played = check_scores(run, 5, start)
    assert all(p.terminated and p.steps == 1 for p in played)
    assert [r.success for r in run.results()] == [start == "in"] * 3


def test_score_is_the_official_one_when_the_last_step_allowed_ends_the_episode(examine: Examine) -> None:
    """Then the competition's runner says both, and the record says terminated."""
    run = examine(agents=[{"policy": "random"}], tasks=[soccer("goalie_penalty_kick", STARTED, start="in")],
                  n_trials=1, max_episode_steps=1)  # fmt: skip
    (played,) = check_scores(run, 1, "in")
    assert played.terminated
    assert played.truncated


def test_a_shot_is_worth_what_the_competition_pays(examine: Examine) -> None:
    run = examine(agents=[{"policy": "zero"}], tasks=[soccer("goalie_penalty_kick", STARTED, start="shot")],
                  n_trials=1, max_episode_steps=120)  # fmt: skip
    (played,) = check_scores(run, 120, "shot")
    assert played.terminated
    assert played.score > 8.0
    (result,) = run.results()
    assert result.success


def test_terms_are_what_a_second_call_would_give_and_a_second_call_changes_nothing() -> None:
    env, once = make(task="goalie_penalty_kick"), make(task="goalie_penalty_kick")
    rng = np.random.default_rng(0)
    for one in (env, once):
        one.reset(0, 0)
        official_soccer.ball_at_feet(one.base)
    for _ in range(60):
        action = rng.uniform(-20, 20, 12).astype(np.float32)
        step, alone = env.step(action), once.step(action)
        again = {f"term/{name}": float(value) for name, value in env.base.compute_reward().items()}
        assert again == {name: value for name, value in step.signals.items() if name.startswith("term/")}
        assert step.observation.tobytes() == alone.observation.tobytes()
    assert step.signals["robot_ball_hits"] == env.base.ball_hits_by_robot > 0


# Seeds ----------------------------------------------------------------------------------------------------------------


def test_match_seeds_are_the_checked_ones() -> None:
    assert [match_seed(42, i) for i in range(3)] == [
        11748724028594454636, 7247977522667294107, 1970316269635304734,
    ]  # fmt: skip


def test_a_trial_is_reset_with_the_seed_of_its_match() -> None:
    task = {"suite": "soccer", "options": {"task": "kick_to_target", "match_seeds": {"master": 42}}}
    cfg = config_from_dict({"agents": [{"policy": "zero"}], "tasks": [task], "n_trials": 3})
    trial = list(Plan(cfg))[2]
    assert trial.seed == match_seed(42, 2), "what tables show is what the simulator gets"
    env, plain = make(task="kick_to_target", match_seeds={"master": 42}), make(task="kick_to_target")
    observation = env.reset(trial.seed, trial.index)
    assert env.constants()["reset_seed"] == match_seed(42, 2)
    assert observation.tobytes() == plain.reset(match_seed(42, 2), 0).tobytes()


def test_in_the_goalie_task_the_seed_changes_nothing() -> None:
    env, rng = make(task="goalie_penalty_kick"), np.random.default_rng(0)
    actions = rng.uniform(-15, 15, (20, 12)).astype(np.float32)
    episodes = []
    for seed in (1, 2):
        first = env.reset(seed, 0)
        episodes.append([first.tobytes(), *(env.step(action).observation.tobytes() for action in actions)])
    assert episodes[0] == episodes[1]


def test_other_tasks_depend_on_the_seed() -> None:
    for task in ("obstacle_penalty_kick", "kick_to_target"):
        env = make(task=task)
        assert env.reset(1, 0).tobytes() != env.reset(2, 0).tobytes()


# The engine -----------------------------------------------------------------------------------------------------------


def test_workers_and_resume_change_nothing(examine: Examine, tmp_path: Path) -> None:
    keys: dict[str, Any] = {
        "agents": [{"policy": "random"}],
        "tasks": [soccer("kick_to_target"), soccer("goalie_penalty_kick", preprocessor="official")],
        "max_episode_steps": 10,
    }
    alone = examine(**keys, n_trials=2, num_parallel=1)
    together = examine(**keys, n_trials=2, num_parallel=4, workers=2)
    assert len(digests(alone)) == 4
    assert digests(together) == digests(alone)
    short = examine(**keys, n_trials=1, num_parallel=2)
    assert digests(resume(short.path, ["n_trials=2"]).run) == digests(alone)


def test_a_recorded_trial_has_every_signal(examine: Examine) -> None:
    run = examine(agents=[{"policy": "zero"}], tasks=[soccer("goalie_penalty_kick")], n_trials=1, max_episode_steps=300)
    (result,) = by_key(run).values()
    arrays = run.episode(result).arrays
    assert result.outcome == "failure"
    assert arrays["robot_fallen"].tolist() == [False] * (result.steps_total - 1) + [True]
    assert arrays["term/robot_fallen"][-1] == 1.0
    assert arrays["term/robot_distance_ball"].dtype == np.float64
    assert arrays["robot_pos_m"][-1, 2] < 0.4 < arrays["robot_pos_m"][0, 2]
    assert not arrays["ball_offside"].any()
    assert not arrays["robot_ball_force_n"].any()
    assert arrays["robot_outside_force_n"].max() > 100.0
    assert arrays["ball_pos_m"].shape == arrays["ball_vel_m_s"].shape == (result.steps_total, 3)
    assert float(arrays["action_dt_s"]) == 0.002


def test_forces_are_those_of_the_whole_weight_when_standing() -> None:
    env = make(task="goalie_penalty_kick")
    env.reset(0, 0)
    pose = np.array([-0.15, 0.0, 0.0, 0.3, -0.15, 0.0] * 2)
    joints, forces = np.zeros(24), []
    for _ in range(500):
        action = np.clip(200 * (pose - joints[:12]) - 5 * joints[12:], -env.action_space.high, env.action_space.high)
        step = env.step(action.astype(np.float32))
        joints = step.observation[:24]
        forces.append(step.signals["robot_outside_force_n"])
    root = env.base.sim.model._model.body("robot_0:Trunk").id
    weight = float(env.base.sim.model._model.body_subtreemass[root]) * 9.81
    assert np.mean(forces[-100:]) == pytest.approx(weight, rel=0.02)


# Observations ---------------------------------------------------------------------------------------------------------


def described(env: SoccerEnv, observation: np.ndarray, info: dict[str, Any], code: list[float]) -> np.ndarray:
    """The official observation by its public description, in double precision."""
    x, y, z, w = info["robot_quat"]
    turned = np.array([[0.0, 0.0, -1.0]]) @ _matrix(float(w), float(x), float(y), float(z))
    ours = [observation[:12], observation[12:24], turned[0], info["robot_gyro"], info["robot_accelerometer"]]
    ours += [info["robot_velocimeter"]]
    ours += [info[f"goal_team_{team}_rel_{what}"] for what in ("robot", "ball") for team in (0, 1)]
    ours += [info[f"ball_{what}_rel_robot"] for what in ("xpos", "velp", "velr")] + [info["player_team"]]
    ours += [info[f"goalkeeper_team_{team}_{what}_rel_robot"] for team in (0, 1) for what in ("xpos", "velp")]
    return np.hstack([*ours, info["target_xpos_rel_robot"], info["target_velp_rel_robot"], info["defender_xpos"], code])


def _matrix(w: float, x: float, y: float, z: float) -> np.ndarray:
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


@pytest.mark.parametrize(("number", "task"), [*enumerate(OFFICIAL)])
def test_official_preprocessor_gives_89_entries_as_described(number: int, task: str) -> None:
    env = make(task=task, preprocessor="official")
    observation = env.reset(3, 0)
    assert observation.shape == env.observation_space.shape == (89,)
    assert observation.dtype == np.float32
    for _ in range(30):
        observation = env.step(np.full(12, 12.0, np.float32)).observation
    code = [float(i == number) for i in range(3)]
    expected = described(env, env.base._get_obs(), env.base._get_info(), code)
    np.testing.assert_allclose(observation, expected, rtol=1e-6, atol=3e-7)
    assert np.linalg.norm(observation[24:27]) == pytest.approx(1.0, abs=1e-5)
    assert abs(observation[24:26]).max() > 0.01


def test_the_task_code_may_have_another_length() -> None:
    assert make(preprocessor="official", task_count=0).reset(0, 0).shape == (86,)
    other = make(task="penalty_kick", preprocessor="official", task_count=4, task_index=3).reset(0, 0)
    assert other[86:].tolist() == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(("task", "length"), [*zip(OFFICIAL, (45, 54, 39), strict=True)])
def test_observations_are_the_environments_own_without_a_preprocessor(task: str, length: int) -> None:
    env = make(task=task)
    assert env.observation_space.shape == env.reset(0, 0).shape == (length,)
    assert env.max_steps == 5000


@pytest.mark.parametrize("task", sorted(NAMES))
def test_the_simulation_is_the_plain_one_to_the_last_bit(task: str) -> None:
    import gymnasium
    import sai_mujoco  # noqa: F401 - registers the ids

    env, plain = make(task=task), gymnasium.make(task, disable_env_checker=True)
    rng = np.random.default_rng(0)
    for seed in (4, 5):
        assert env.reset(seed, 0).tobytes() == plain.reset(seed=seed)[0].tobytes()
        for _ in range(4):
            action = rng.uniform(env.action_space.low, env.action_space.high).astype(np.float32)
            step, (observation, reward, *_, info) = env.step(action), plain.step(action)
            assert step.observation.tobytes() == observation.tobytes()
            assert step.reward == reward
            assert {name: step.signals[f"term/{name}"] for name in info["reward_terms"]} == info["reward_terms"]


# Tasks ----------------------------------------------------------------------------------------------------------------


def test_the_table_has_every_task_that_can_be_made() -> None:
    import gymnasium
    import sai_mujoco  # noqa: F401 - registers the ids

    kinds = ("PenaltyKick", "KickToTarget", BROKEN)
    registered = {name for name in gymnasium.registry if any(kind in name for kind in kinds)}
    assert registered == {*NAMES, f"LowerT1{BROKEN}-v0", f"T1{BROKEN}-v0"}
    with pytest.raises(AttributeError):
        gymnasium.make(f"LowerT1{BROKEN}-v0")


def test_two_robots_in_one_process_do_not_touch_each_other() -> None:
    def play(env: SoccerEnv) -> list[bytes]:
        env.reset(0, 0)
        high = env.action_space.high * 0.2
        return [env.step(high).observation.tobytes() for _ in range(5)]

    alone = play(make(task="t1_kick_to_target"))
    whole, legs = make(task="t1_kick_to_target"), make(task="kick_to_target")
    play(legs)
    assert play(whole) == alone
    assert whole.action_space.shape == (23,)


def test_frames_are_drawn(examine: Examine) -> None:
    pytest.importorskip("av", reason="the extra `video` is not installed")
    try:
        graphics_context((8, 8)).free()
    except RenderingUnavailable as error:
        pytest.skip(str(error))
    record = {"level": "video", "video": {"every": 2}}
    run = examine(agents=[{"policy": "zero"}], tasks=[soccer("kick_to_target")], n_trials=1, max_episode_steps=4,
                  workers=1, record=record)  # fmt: skip
    (result,) = run.results()
    assert result.video is not None
    assert (run.path / result.video).stat().st_size > 1000


def test_the_resolved_config_shows_the_id() -> None:
    entry = {"suite": "soccer", "options": {"task": "kick_to_target"}}
    (task,) = config_from_dict({"agents": [{"policy": "zero"}], "tasks": [entry]}).tasks
    assert task.name == "kick_to_target"
    assert task.options["task"] == "LowerT1KickToTarget-v0"


def test_stand_stays_up_where_zero_falls(examine: Examine) -> None:
    agents = [{"name": "stand", "policy": "soccer/stand"}, {"name": "zero", "policy": "zero"}]
    run = examine(agents=agents, tasks=[soccer("kick_to_target")], n_trials=1, max_episode_steps=600)
    steps = {key: result.steps_total for key, result in by_key(run).items()}
    falls = [n for key, n in steps.items() if "zero" in key]
    assert max(falls) < 400
    assert [n for key, n in steps.items() if "stand" in key] == [600]
