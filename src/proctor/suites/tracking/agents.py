"""Agents that need no model: what a tracking score means is seen from them.

`Mirror` gives the motors the joints of the next reference frame, and nothing keeps it on its feet: it is good in joint
space, and falls. `Hold` keeps a pose, whatever the motion.

Both know the task by its briefing (robot, motions, how actions are meant) and read the observation groups `motion` and
`frame`, or for Mirror alternatively the window `reference`.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from proctor.errors import InputError
from proctor.policies.protocol import Batch, Placement, Policy, SpaceInfo, by_task


class _Task:
    """One tracking task: its joints, its motions, and how a joint target is written as an action."""

    def __init__(self, name: str, spaces: SpaceInfo, agent: str):
        briefing = spaces.briefing[name]() if name in spaces.briefing else None
        if briefing is None:
            raise InputError(
                f'the agent {agent} follows motions, but task "{name}" has none; use it in a tracking task'
            )
        self.description, self.options, self.library = briefing.robot.description, briefing.options, briefing.library
        self.groups = set(self.options.groups)

    def action(self, targets: np.ndarray) -> np.ndarray:
        """The action (k, J) float32 that asks for joint targets (k, J) in rad."""
        if self.options.action == "offset":
            targets = (targets - self.description.default_pose) / self.description.action_scale
        if self.options.layout is not None:
            targets = targets / self.options.layout.action_gain
        return targets.astype(np.float32)

    def joints(self, motions: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """Joint positions (k, J) of reference frames."""
        return self.library.frames.qpos[self.library.rows(motions, frames), 7:]


class _Scripted(Policy):
    """One answer per task of the batch."""

    placement: Placement = "worker"

    agent = "agent"

    def __init__(self, spaces: SpaceInfo):
        names = spaces.action or spaces.briefing
        self._tasks = {name: _Task(name, spaces, self.agent) for name in names}
        for name, task in self._tasks.items():
            self._check(name, task)

    def _check(self, name: str, task: _Task) -> None:
        """Raise InputError where the task does not show what the agent needs."""

    def _targets(self, task: _Task, observation: Any) -> np.ndarray:
        """Joint targets (k, J) for these rows of one task."""
        raise NotImplementedError

    def act(self, batch: Batch) -> np.ndarray:
        def answer(name: str, rows: np.ndarray | slice) -> np.ndarray:
            task = self._tasks[name]
            return task.action(self._targets(task, {key: value[rows] for key, value in batch.observation.items()}))

        return by_task(batch.trials, answer)


class Mirror(_Scripted):
    """The joints of the next reference frame as targets."""

    agent = "mirror"

    def _check(self, name: str, task: _Task) -> None:
        window = "reference" in task.groups and 1 in task.options.reference_offsets
        if not window and not {"motion", "frame"} <= task.groups:
            raise InputError(
                f'the agent mirror cannot see the next reference frame in task "{name}": its observations are '
                f"{', '.join(sorted(task.groups))}; add motion and frame, or reference with the offset 1"
            )

    def _targets(self, task: _Task, observation: Any) -> np.ndarray:
        if {"motion", "frame"} <= task.groups:
            return task.joints(observation["motion"], observation["frame"])
        row = task.options.reference_offsets.index(1)
        return observation["reference"][:, row, : task.description.n_joints].astype(np.float64)


class Hold(_Scripted):
    """One pose all the time: the robot's default pose, or the first frame of the motion (`pose: first`)."""

    agent = "hold"

    def __init__(self, spaces: SpaceInfo, pose: Literal["default", "first"] = "default"):
        if pose not in ("default", "first"):
            raise InputError(f'the agent hold was asked for the pose "{pose}"; expected default or first')
        self._first = pose == "first"
        super().__init__(spaces)

    def _check(self, name: str, task: _Task) -> None:
        if self._first and "motion" not in task.groups:
            raise InputError(f'hold with pose: first needs the observation `motion`, which task "{name}" does not have')

    def _targets(self, task: _Task, observation: Any) -> np.ndarray:
        rows = len(next(iter(observation.values())))
        if not self._first:
            return np.tile(task.description.default_pose, (rows, 1))
        return task.joints(observation["motion"], np.zeros(rows, np.int64))
