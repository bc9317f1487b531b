"""An agent that is told what to do by a goal sees the goal, and no name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examining import digests
from goal_rooms import CORNERS, INSTRUCTIONS, MODEL, RoomModel, Walker, features, room_task, walker
from gymnasium.spaces import Box

from proctor import (
    Actions,
    Batch,
    ConfigError,
    Execute,
    InputError,
    Policy,
    Run,
    Stage,
    StagedPolicy,
    StageOutput,
    config_from_dict,
)
from proctor.policies.protocol import AnyPolicy
from proctor.suites.goals.conditioned import condition, prior_goals, visual_goals
from proctor.suites.goals.metrics.embeddings import Embeddings
from proctor.suites.goals.protocol import GOAL_STREAM, task_rng
from proctor.suites.goals.visuals import TaskVisuals, Visuals, write_visuals
from proctor.testing import PolicyConformance
from proctor_host.trials import Trial

Examine = Callable[..., Run]
TASKS = [room_task(corner) for corner in CORNERS]


def successes(run: Run) -> dict[str, float]:
    found: dict[str, list[bool]] = {}
    for result in run.results():
        assert result.error is None, result.error
        found.setdefault(result.trial.agent, []).append(result.success)
    return {agent: float(np.mean(won)) for agent, won in found.items()}


def true_visuals(space: str = RoomModel.space) -> Visuals:
    def own(corner: str) -> TaskVisuals:
        x, y = CORNERS[corner]
        vector = features(np.array([float(x)]), np.array([float(y)]))
        one = np.zeros(1, np.int64)
        frames = np.zeros((1, 1, 1, 3), np.uint8)
        return TaskVisuals(Embeddings(vector, space), one, one, one, np.zeros(1, bool), frames, corner, 1)

    return Visuals(space, {corner: own(corner) for corner in CORNERS})


def test_the_goal_alone_leads_to_every_corner(examine: Examine) -> None:
    run = examine(agents=[walker("told", MODEL), walker("lost", {"target": MODEL, "kwargs": {"broken": True}})],
                  tasks=TASKS, n_trials=3)  # fmt: skip
    rates = successes(run)
    assert rates["told"] == 1.0
    assert rates["lost"] == 0.0


def test_visual_goals_and_a_perfect_prior_give_equal_episodes(examine: Examine, tmp_path: Path) -> None:
    folder = tmp_path / "visuals"
    write_visuals(folder, true_visuals())
    agents = [
        walker("seen", source="visual", visuals_folder=str(folder)),
        walker("truth", "ground_truth", visuals_folder=str(folder)),
    ]
    found = digests(examine(agents=agents, tasks=TASKS, n_trials=2))
    for corner in CORNERS:
        for index in range(2):
            assert found[f"seen/{corner}/{index:04d}"] == found[f"truth/{corner}/{index:04d}"]


def test_goal_models_and_whole_agents_in_another_interpreter_give_equal_episodes(examine: Examine) -> None:
    noisy = {"target": MODEL, "kwargs": {"noise": 0.5}}
    runtime = {"python": sys.executable}
    here = walker("agent", noisy)
    model_there = walker("agent", {**noisy, "runtime": runtime})
    agent_there = {**here, "runtime": runtime}
    ran = [digests(examine(agents=[agent], tasks=TASKS[:2], n_trials=2)) for agent in (here, model_there, agent_there)]
    assert ran[0] == ran[1] == ran[2]


@pytest.mark.parametrize("keys", [{"num_parallel": 1}, {"num_parallel": 7}, {"workers": 2}])
def test_sampled_goals_are_a_trials_own(examine: Examine, keys: dict[str, Any]) -> None:
    agents = [walker("sampled", {"target": MODEL, "kwargs": {"noise": 0.5}})]
    expected = digests(examine(agents=agents, tasks=TASKS[:2], n_trials=4))
    assert digests(examine(agents=agents, tasks=TASKS[:2], n_trials=4, **keys)) == expected


def test_goals_are_drawn_by_seed_and_task_whoever_asks() -> None:
    goal_of = prior_goals(RoomModel(noise=0.5), {"a": "north", "b": "north"})
    first = goal_of(Trial("x", "a", 0, 7))
    assert first.dtype == np.float32
    assert (goal_of(Trial("y", "a", 3, 7)) == first).all()
    assert (goal_of(Trial("x", "b", 0, 7)) != first).all()
    assert (goal_of(Trial("x", "a", 0, 8)) != first).all()
    assert task_rng(7, GOAL_STREAM, "a").random() != Trial("x", "a", 0, 7).policy_rng().random()


def test_visual_goal_of_an_unknown_task_says_what_there_is() -> None:
    with pytest.raises(InputError, match=r'no success visuals of task "cellar" .there are of: north-east, north-west'):
        visual_goals(true_visuals())(Trial("x", "cellar", 0, 0))


class Memory(Policy):
    """Leans a little further towards its goal at every step."""

    def reset(self, trials: Sequence[Trial]) -> np.ndarray:
        return np.zeros((len(trials), 2))

    def act(self, batch: Batch) -> Actions:
        lean = 0.9 * batch.state + 0.1 * batch.observation["goal"][:, :2]
        return Actions(np.tanh(lean + 0.1 * batch.normal((2,))).astype(np.float32), lean)


class Planner(StagedPolicy):
    """Plans towards the goal, then acts."""

    stages = (Stage("plan"), Stage("act"))

    def reset(self, trials: Sequence[Trial]) -> np.ndarray:
        return np.zeros((len(trials), 2))

    def forward(self, stage: str, batch: Batch) -> StageOutput:
        aim = np.tanh(batch.observation["goal"][:, :2]).astype(np.float32)
        return StageOutput([Execute(row[None], "plan") for row in aim], batch.state + 1)


class Conditioned(PolicyConformance):
    observation_space = Box(-1.0, 1.0, (2,), np.float32)
    action_space = Box(-1.0, 1.0, (2,), np.float32)
    inner: Callable[[], AnyPolicy]

    def make(self) -> AnyPolicy:
        goals = prior_goals(RoomModel(noise=0.5), {"task": "go north"})
        return condition(type(self).inner(), goals)


class TestMemory(Conditioned):
    inner = Memory


class TestStages(Conditioned):
    inner = Planner


class TestWalker(Conditioned):
    inner = partial(Walker, 5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "source: prior needs a goal model"),
        ({"source": "visual"}, "source: visual needs visuals_folder"),
        ({"source": "verbal"}, "expected one of prior, visual"),
    ],
)
def test_missing_sources_are_found_when_the_config_is_read(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        config_from_dict({"agents": [walker("a", **options)], "tasks": TASKS})


def test_a_task_without_instruction_says_where_to_put_one(examine: Examine) -> None:
    agent = walker("a", MODEL, instructions={})
    with pytest.raises(
        InputError, match=r'task "north-east" tells no instruction .found nothing.*instructions: \{TASK'
    ):
        examine(agents=[agent], tasks=TASKS[:1])


def test_visuals_of_another_space_are_refused(examine: Examine, tmp_path: Path) -> None:
    write_visuals(tmp_path / "visuals", true_visuals("other/pictures"))
    agent = walker("a", MODEL, visuals_folder=str(tmp_path / "visuals"))
    with pytest.raises(InputError, match=r"answers in the space room/pictures, .* of the space other/pictures"):
        examine(agents=[agent], tasks=TASKS[:1])


def test_instructions_may_name_more_tasks_than_are_run(examine: Examine) -> None:
    assert len(INSTRUCTIONS) > 1
    assert successes(examine(agents=[walker("a", MODEL)], tasks=TASKS[:1], n_trials=1)) == {"a": 1.0}
