"""Scripted agents of Crafter.

`Expert` is told a task's name and does what it needs: who collects pictures of success, and the most that a goal can
bring. `Skilled` is told nothing but a goal embedding.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from proctor.errors import InputError, optional
from proctor.policies.protocol import Actions, Batch, Placement, Policy, SpaceInfo
from proctor.suites.crafter import skills
from proctor.suites.crafter.tasks import TASKS, TaskName
from proctor_host.trials import Trial


def act_rows(tasks: Sequence[TaskName], batch: Batch, headings: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every row does the skill of its task: actions (rows,), and the headings (rows,) of the next step."""
    actions, after = np.empty(len(batch), np.int64), headings.copy()
    for row, task in enumerate(tasks):
        actions[row], after[row] = skills.act(task, seen(batch.observation, row), int(headings[row]), batch.rngs[row])
    return actions, after


def seen(observation: dict[str, Any], row: int) -> skills.Seen:
    """The whole map where the task gives it, else the player's view."""
    facing = observation["facing"][row]
    where = (int(facing[0]), int(facing[1]))
    if "privileged" in observation:
        whole = observation["privileged"]
        x, y = whole["position"][row]
        return skills.Seen(whole["map"][row], (int(x), int(y)), where, observation["inventory"][row])
    local = observation["local"][row]
    return skills.Seen(local, (local.shape[0] // 2, local.shape[1] // 2), where, observation["inventory"][row])


class _Wanderer(Policy):
    """An agent whose state is the direction in which a trial wanders, (rows,)."""

    placement: Placement = "worker"

    def reset(self, trials: Sequence[Trial]) -> np.ndarray:
        return np.zeros(len(trials), np.int64)


class Expert(_Wanderer):
    """Does the skill of the task's name, or of `skills` (task's name in the config -> one of `tasks.TASKS`)."""

    def __init__(self, spaces: SpaceInfo, skills: dict[str, str] | None = None):
        self._skills: dict[str, TaskName] = {
            task: expected_skill(task, (skills or {}).get(task, task)) for task in spaces.observation
        }

    def act(self, batch: Batch) -> Actions:
        tasks: list[TaskName] = [self._skills[trial.task] for trial in batch.trials]
        return Actions(*act_rows(tasks, batch, batch.state))


def expected_skill(task: str, skill: str) -> TaskName:
    """The skill of this name. Raises InputError where there is none."""
    for known in TASKS:
        if skill == known:
            return known
    raise InputError(
        f'there is no skill "{skill}" (for {task}); known: {", ".join(TASKS)}. An expert is told with '
        "kwargs: {skills: {TASK: SKILL}}"
    )


class Skilled(_Wanderer):
    """Does the skill whose pictures of success are nearest to the goal, and knows of its task nothing else.

    `checkpoint`: safetensors with `centroids` (skills, d), and in its header `skills`, their names. The observation has
    an entry `goal` (rows, d); nearness is the cosine."""

    def __init__(self, checkpoint: str):
        self._skills, centroids = read_centroids(checkpoint)
        self._centroids = centroids / np.linalg.norm(centroids, axis=1, keepdims=True)

    def act(self, batch: Batch) -> Actions:
        return Actions(*act_rows([self.skill(goal) for goal in batch.observation["goal"]], batch, batch.state))

    def skill(self, goal: np.ndarray) -> TaskName:
        """The skill that a goal (d,) means."""
        if goal.shape != self._centroids.shape[1:]:
            raise InputError(
                f"found a goal of shape {goal.shape}; the checkpoint's skills have {self._centroids.shape[1:]}: "
                "give the agent the checkpoint of the goal model"
            )
        return self._skills[int(np.argmax(self._centroids @ goal))]


def read_centroids(checkpoint: str) -> tuple[list[TaskName], np.ndarray]:
    """Names of skills, and the mean picture of success of each (skills, d). Raises InputError where the file has
    none."""
    safetensors = optional("safetensors", "reading a checkpoint of skills", "crafter")
    try:
        with safetensors.safe_open(checkpoint, framework="np") as file:
            names = json.loads((file.metadata() or {})["skills"])
            centroids = file.get_tensor("centroids")
    except (safetensors.SafetensorError, OSError, KeyError) as error:
        raise InputError(
            f"{checkpoint} has no skills ({error}); expected safetensors with a tensor `centroids` and `skills` in its "
            "header, as examples/train_goals.py writes"
        ) from None
    return [expected_skill(checkpoint, name) for name in names], centroids
