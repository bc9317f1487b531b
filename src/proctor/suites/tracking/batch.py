"""The tracking worlds as a batch environment of the engine. One trial is one motion: trial i has motion i modulo the
number of motions, and everything random in it comes from its seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces

from proctor.suites.protocol import ColumnEnv, Columns, split_rows
from proctor.suites.states import POSITIONS, TURNS, shapes_of
from proctor.suites.tracking.judging import Judge, Verdict
from proctor.suites.tracking.motions import MotionLibrary
from proctor.suites.tracking.observations import reference_signals
from proctor.suites.tracking.observing import Observer, observation_space
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.rendering import TrackingRenderer
from proctor.suites.tracking.robot import Robot
from proctor.suites.tracking.worlds import Worlds


class TrackingBatchEnv(ColumnEnv):
    """N worlds, each with its own trial. An episode has one step less than its motion has frames; longer motions go on
    in the worlds beside it. A simulation that breaks down gives a reward of NaN, which is a fault of that trial
    alone."""

    partial_reset = True

    def __init__(self, robot: Robot, library: MotionLibrary, n: int, options: TrackingOptions):
        self.worlds = Worlds(robot, library, n, options)
        self._observer, self._judge = Observer(self.worlds, options), Judge(self.worlds, options)
        self._legacy = options.legacy
        self.num_worlds = n
        self.observation_space = observation_space(robot, library, options)
        self.action_space = action_space(robot)
        self.action_dt_s = self.worlds.dt_s
        self.max_steps = int(self.worlds.lengths.max()) - 1
        self._neutral = neutral_action(robot, options)
        self._constants: list[dict[str, Any]] = [{} for _ in range(n)]
        self._renderer: TrackingRenderer | None = None
        self._names = {
            "joint_names": np.array(robot.description.joint_names),
            "body_names": np.array(robot.description.tracked_bodies),
        }

    def reset(self, worlds: Sequence[int], seeds: Sequence[int], indices: Sequence[int]) -> list[Any]:
        rows = np.asarray(worlds, np.int64)
        if not len(rows):
            return []
        motions = np.asarray(indices, np.int64) % len(self.worlds.library)
        trials = self.worlds.reset(rows, motions, [np.random.default_rng(seed) for seed in seeds])
        observation = self._observer.start(rows, trials)
        first = self._signals(rows, self._judge.start(rows))
        for i, world in enumerate(rows):
            self._constants[world] = self._constants_of(int(world), {name: a[i] for name, a in first.items()})
        return split_rows(observation)

    def step_columns(self, worlds: np.ndarray | None, actions: np.ndarray) -> Columns:
        self.worlds.step(actions.astype(np.float32, copy=False), worlds)
        rows = slice(None) if worlds is None else worlds
        observation, verdict = self._observer.go_on(rows), self._judge.judge(rows)
        _, reward, success, terminated, truncated = verdict
        return Columns(observation, reward, terminated, truncated, success, self._signals(rows, verdict))

    def _signals(self, rows: np.ndarray | slice, verdict: Verdict) -> dict[str, np.ndarray]:
        qpos = self.worlds.qpos[rows].copy()
        found = {
            "joint_pos": qpos[:, 7:],
            "body_pos": verdict.body_pos,
            "root_pos": qpos[:, :3],
            "root_quat": qpos[:, 3:7],
            "anchor_quat": self.worlds.bodies.quat[rows, self.worlds.robot.anchor].copy(),
        }
        if self.records_states:
            bodies = self.worlds.bodies
            found[POSITIONS] = bodies.pos[rows].astype(np.float32)
            found[TURNS] = bodies.quat[rows].astype(np.float32)
        if self._observer.state is not None:
            found["observed_joint_pos"] = self._observer.seen(rows)[:, : qpos.shape[1] - 7].copy()
        return found

    def _constants_of(self, world: int, first: Mapping[str, np.ndarray]) -> dict[str, Any]:
        w, robot = self.worlds, self.worlds.robot
        motion, length = int(w.motion[world]), int(w.length[world])
        reference = w.library.reference(motion).rows(slice(0, length))
        found = reference_signals(robot, reference)
        constants: dict[str, Any] = {"case": np.array(w.library.names[motion]), **self._names}
        constants |= {f"reference.{name}": found[name] for name in first if name in found}
        constants |= {f"first.{name}": value for name, value in first.items() if name in found}
        if self.records_states:
            constants |= self._shapes
            constants["scene.reference_body_pos"] = reference.body_pos.astype(np.float32)
            constants["scene.reference_body_quat"] = reference.body_quat.astype(np.float32)
        return constants if self._legacy is None else constants | {"tracking.legacy": np.array(self._legacy)}

    @cached_property
    def _shapes(self) -> dict[str, np.ndarray]:
        """Of the robot; its bodies are all but the world."""
        return shapes_of(self.worlds.robot.model, first=1)

    def constants(self, world: int) -> Mapping[str, Any]:
        return self._constants[world]

    def render(self, world: int) -> np.ndarray:
        """The robot, and beside it a translucent reference in the frame that it should be in."""
        w = self.worlds
        if self._renderer is None:
            self._renderer = TrackingRenderer(w.robot)
        at = w.library.rows(w.motion[world], w.frame[world])
        return self._renderer.render(w.qpos[world], w.library.frames.qpos[at])

    def dummy_action(self) -> np.ndarray:
        return self._neutral.copy()

    def close(self) -> None:
        self.worlds.close()
        if self._renderer is not None:
            self._renderer.close()


def action_space(robot: Robot) -> spaces.Box:
    """Of a single world: unbounded, since a target beyond a joint's limits is a way to push."""
    return spaces.Box(-np.inf, np.inf, (robot.description.n_joints,), np.float32)


def neutral_action(robot: Robot, options: TrackingOptions) -> np.ndarray:
    """Holds the default pose."""
    pose = robot.description.default_pose.astype(np.float32)
    return pose if options.action == "absolute" else np.zeros_like(pose)
