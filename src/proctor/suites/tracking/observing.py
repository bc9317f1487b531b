"""The observations of N worlds: the groups that the options choose, with sensor noise and history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from proctor.suites.tracking import observations as obs
from proctor.suites.tracking.layout import ActorHistory, history_size
from proctor.suites.tracking.motions import MotionLibrary
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.physics import Look
from proctor.suites.tracking.randomise import SensorNoise, Streams
from proctor.suites.tracking.robot import Robot
from proctor.suites.tracking.worlds import Rows, Worlds

Observation = dict[str, np.ndarray]


def observation_space(robot: Robot, library: MotionLibrary, options: TrackingOptions) -> spaces.Dict:
    """Of a single world. What networks read is float32, the raw state float64."""
    joints, state, bodies = robot.description.n_joints, obs.state_size(robot), len(robot.body_names)
    shapes: dict[str, tuple[tuple[int, ...], Any]] = {
        "state": ((state,), np.float32),
        "privileged_state": ((obs.privileged_size(robot),), np.float32),
        "history": ((options.history_length, state + joints), np.float32),
        "history_actor": ((0 if options.layout is None else history_size(options.layout, joints),), np.float32),
        "last_action": ((joints,), np.float32),
        "root_height": ((1,), np.float32),
        "reference": ((len(options.reference_offsets), obs.window_row_size(robot)), np.float32),
        "qpos": ((7 + joints,), np.float64),
        "qvel": ((6 + joints,), np.float64),
        "xpos": ((bodies, 3), np.float64),
        "xquat": ((bodies, 4), np.float64),
    }
    found: dict[str, gymnasium.Space[Any]] = {}
    for group in options.groups:
        if group in ("motion", "frame"):
            found[group] = spaces.Discrete(len(library) if group == "motion" else int(library.lengths.max()))
        else:
            shape, dtype = shapes[group]
            found[group] = spaces.Box(-np.inf, np.inf, shape, dtype)
    return spaces.Dict(found)


def in_float32(space: spaces.Dict) -> spaces.Dict:
    """The space of the same observations on a device: raw states are float32 there."""
    return spaces.Dict(
        {
            name: spaces.Box(-np.inf, np.inf, part.shape, np.float32) if part.dtype == np.float64 else part
            for name, part in space.spaces.items()
        }
    )


def merged(
    whole: dict[str, np.ndarray], n: int, rows: np.ndarray, part: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Observations of all n worlds, with those of some taken from `part`; zeros where there was none before."""
    found = {}
    for group, values in part.items():
        before = whole.get(group)
        found[group] = np.zeros((n, *values.shape[1:]), values.dtype) if before is None else before.copy()
        found[group][rows] = values
    return found


class History:
    """The last `length` pairs of observed state and action of n worlds: (n, length, width) float32, oldest first. Pairs
    from before the start of a trial are zero."""

    def __init__(self, n: int, length: int, width: int):
        self.rows = np.zeros((n, length, width), np.float32)

    def clear(self, worlds: np.ndarray) -> None:
        """A new trial in these worlds."""
        self.rows = self.rows.copy()
        self.rows[worlds] = 0.0

    def push(self, worlds: np.ndarray | slice, states: np.ndarray, actions: np.ndarray) -> None:
        """Append what was seen (k, S) and what was then done (k, J). Earlier arrays stay as they are."""
        rows = self.rows.copy()
        rows[worlds, :-1] = self.rows[worlds, 1:]
        rows[worlds, -1] = np.concatenate([states, actions], axis=-1)
        self.rows = rows


class Observer:
    """Looks at `worlds`. `state` (n, 2J + 6) is the state as last observed, noise included; None where nothing needs
    it."""

    def __init__(self, worlds: Worlds, options: TrackingOptions):
        self._worlds, self._groups = worlds, options.groups
        robot = worlds.robot
        joints, width = robot.description.n_joints, obs.state_size(robot)
        amplitudes = options.sensor_noise.amplitudes(joints)
        wanted = set(self._groups)
        self._noise = None if amplitudes is None else SensorNoise(amplitudes, worlds.n)
        self._history = History(worlds.n, options.history_length, width + joints) if "history" in wanted else None
        self._layout = options.layout
        self._actor_history = (
            ActorHistory(options.layout, worlds.n, joints)
            if options.layout is not None and "history_actor" in wanted
            else None
        )
        self.state = np.zeros((worlds.n, width)) if wanted & {"state", "history", "history_actor"} else None
        self._offsets = np.asarray(options.reference_offsets, np.int64)
        if "privileged_state" in wanted:
            write = partial(obs.write_privileged, robot)
            worlds.look_at_bodies(Look(obs.privileged_size(robot), write))
        self._stepped = False
        self._look: dict[str, Callable[[Rows], np.ndarray]] = {
            "state": lambda rows: self._shown(rows).astype(np.float32),
            "privileged_state": self._privileged,
            "history": self._past,
            "history_actor": self._past_of_actor,
            "last_action": self._acted,
            "root_height": lambda rows: worlds.qpos[rows, 2:3].astype(np.float32),
            "reference": self._window,
            "motion": lambda rows: worlds.motion[rows],
            "frame": lambda rows: np.minimum(worlds.frame[rows] + 1, worlds.length[rows] - 1),
            "qpos": lambda rows: worlds.qpos[rows],
            "qvel": lambda rows: worlds.qvel[rows],
            "xpos": lambda rows: worlds.bodies.pos[rows],
            "xquat": lambda rows: worlds.bodies.quat[rows],
        }

    def start(self, rows: np.ndarray, trials: Sequence[Streams]) -> dict[str, np.ndarray]:
        """The first observation of new trials in these worlds: each group (k, ...)."""
        if self._noise is not None:
            for world, trial in zip(rows, trials, strict=True):
                self._noise.start(int(world), trial.noise)
        for history in (self._history, self._actor_history):
            if history is not None:
                history.clear(rows)
        self._stepped = False
        return self._observe(rows)

    def go_on(self, rows: Rows) -> dict[str, np.ndarray]:
        """The observation after a step of these worlds."""
        if self._history is not None:
            self._history.push(rows, self.seen(rows), self._worlds.last_action[rows])
        self._stepped = True
        found = self._observe(rows)
        if self._actor_history is not None:
            self._actor_history.push(rows, self._shown(rows), self._acted(rows))
        return found

    def seen(self, rows: Rows) -> np.ndarray:
        """The state as last observed, (k, 2J + 6) float64."""
        assert self.state is not None
        return self.state[rows]

    def _observe(self, rows: Rows) -> dict[str, np.ndarray]:
        worlds = self._worlds
        if self.state is not None:
            state = obs.state_observation(worlds.robot, worlds.qpos[rows], worlds.qvel[rows])
            if self._noise is not None:
                state += self._noise.take(np.arange(worlds.n)[rows])
            if not isinstance(rows, slice):
                everywhere = self.state.copy()
                everywhere[rows] = state
                state = everywhere
            self.state = state
        return {group: self._look[group](rows) for group in self._groups}

    def _shown(self, rows: Rows) -> np.ndarray:
        """The state as it is shown, scaled where the layout scales."""
        seen = self.seen(rows)
        return seen if self._layout is None else self._layout.shown(seen)

    def _acted(self, rows: Rows) -> np.ndarray:
        """The last action as it is shown."""
        last = self._worlds.last_action[rows]
        return last if self._layout is None else self._layout.shown_action(last).astype(np.float32)

    def _past_of_actor(self, rows: Rows) -> np.ndarray:
        assert self._actor_history is not None
        return self._actor_history.seen(rows)

    def _past(self, rows: Rows) -> np.ndarray:
        assert self._history is not None
        return self._history.rows[rows]

    def _privileged(self, rows: Rows) -> np.ndarray:
        w = self._worlds
        if self._stepped and w.looks is not None:
            return w.looks
        return obs.privileged_observation(w.robot, *(array[rows] for array in w.bodies)).astype(np.float32)

    def _window(self, rows: Rows) -> np.ndarray:
        w, anchor = self._worlds, self._worlds.robot.anchor
        frames = np.clip(w.frame[rows, None] + self._offsets, 0, w.length[rows, None] - 1)
        at = w.library.rows(w.motion[rows, None], frames)
        pose = (w.bodies.pos[rows, anchor], w.bodies.quat[rows, anchor])
        return obs.window_observation(w.robot, pose, w.library.frames, at).astype(np.float32)
