"""The tracking worlds as a vector environment for training loops.

The same simulation, observations and rewards as `TrackingBatchEnv`: equal seeds, motions and actions give equal
episodes. Arrays that are returned or read are not overwritten by later steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space

from proctor.errors import InputError
from proctor.registry import did_you_mean
from proctor.suites.autoreset import AutoresetMode
from proctor.suites.tracking.batch import action_space
from proctor.suites.tracking.judging import Judge, Verdict
from proctor.suites.tracking.motions import MotionLibrary
from proctor.suites.tracking.observing import Observation, Observer, merged, observation_space
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.robot import Robot
from proctor.suites.tracking.worlds import Worlds

RESET_OPTIONS = ("target_states", "motions", "frames", "reset_mask", "worlds")
PARTS = ("root_pos", "root_quat", "joint_pos", "root_lin_vel", "root_ang_vel", "joint_vel")


class TrackingVectorEnv(gymnasium.vector.VectorEnv[Observation, np.ndarray, np.ndarray]):
    """`num_envs` worlds. By default nothing is reset automatically: a world whose motion is over goes on and stays
    truncated until it is reset. With `AutoresetMode.NEXT_STEP` an ended world is reset by the step after, which
    ignores its action.

    `reset` takes these options:
    - `reset_mask` (n,) bool, or `worlds`, indices: which worlds are reset; without them all. Below, k is their number.
    - `motions`: indices or names (k,); else they are drawn with the library's sampling weights.
    - `frames` (k,): the frame to start from; else the first.
    - `target_states`: states to start from, instead of the reference's: `qpos` and `qvel`, or `root_pos`, `root_quat`
      (wxyz), `joint_pos`, `root_lin_vel` (world frame), `root_ang_vel` (root's frame), `joint_vel`; each with k rows or
      one for every world. Velocities that are left out are zero.

    `infos` has `success` (so far) and `diverged`: the simulation broke down, and the episode is terminated."""

    def __init__(
        self,
        robot: Robot,
        library: MotionLibrary,
        num_envs: int,
        options: TrackingOptions,
        *,
        autoreset_mode: AutoresetMode | None = None,
    ):
        self.closed = True
        if autoreset_mode is AutoresetMode.SAME_STEP:
            raise InputError("autoreset_mode SAME_STEP is not offered; choose DISABLED or NEXT_STEP")
        self.num_envs, self.robot, self.library, self.options = num_envs, robot, library, options
        self.metadata = {"autoreset_mode": autoreset_mode or AutoresetMode.DISABLED, "render_modes": []}
        self.worlds = Worlds(robot, library, num_envs, options)
        self._observer, self._judge = Observer(self.worlds, options), Judge(self.worlds, options)
        self.single_observation_space = observation_space(robot, library, options)
        self.single_action_space = action_space(robot)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.dt_s = self.worlds.dt_s
        self._observation: Observation = {}
        self._ended = np.zeros(num_envs, bool)
        self.closed = False

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start trials in all worlds or some. `seed`: one for each world that is reset, or for every world, or one
        number, from which they count up; None goes on with what the environment's generator gives."""
        options = options or {}
        if unknown := [name for name in options if name not in RESET_OPTIONS]:
            hint = did_you_mean(unknown[0], RESET_OPTIONS) or f" (known: {', '.join(RESET_OPTIONS)})"
            raise InputError(f'reset: unknown option "{unknown[0]}"{hint}')
        rows = self._chosen(options)
        if isinstance(seed, int):
            super().reset(seed=seed)
        rngs, states = self._rngs(seed, rows), options.get("target_states")
        self._restart(
            rows,
            self._motions(options.get("motions"), rngs),
            rngs,
            options.get("frames"),
            None if states is None else self._states(states, rows),
        )
        return dict(self._observation), {"motion": self.worlds.motion, "frame": self.worlds.frame}

    def _restart(
        self, rows: np.ndarray, motions: np.ndarray, rngs: Any, frames: Any = None, states: Any = None
    ) -> None:
        first = self._observer.start(rows, self.worlds.reset(rows, motions, rngs, frames, states))
        self._judge.start(rows)
        self._ended = self._ended.copy()
        self._ended[rows] = False
        self._merge(rows, first)

    def _merge(self, rows: np.ndarray, part: Observation) -> None:
        """Take the observations of some worlds into those of all."""
        if not self._observation and len(rows) < self.num_envs:
            raise InputError("the first reset must be of all worlds; leave out reset_mask and worlds")
        self._observation = merged(self._observation, self.num_envs, rows, part)

    def step(
        self, actions: np.ndarray
    ) -> tuple[Observation, np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """One control step of all worlds, actions (n, J). Raises ValueError for a wrong shape and for what is not
        finite."""
        if not self._observation:
            raise InputError("reset the environment before the first step")
        actions = np.asarray(actions, np.float32)
        again = self._ended if self.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP else None
        if again is None or not again.any():
            self.worlds.step(actions)
            self._observation = self._observer.go_on(slice(None))
            return self._answer(self._judge.judge(slice(None)))
        going, over = np.flatnonzero(~again), np.flatnonzero(again)
        if len(going):
            self.worlds.step(actions[going], going)
            self._merge(going, self._observer.go_on(going))
        rngs = self._rngs(None, over)
        self._restart(over, self._motions(None, rngs), rngs)
        verdict = self._judge.judge(slice(None))
        return self._answer(
            verdict._replace(
                reward=np.where(again, 0.0, verdict.reward),
                terminated=verdict.terminated & ~again,
                truncated=verdict.truncated & ~again,
            )
        )

    def _answer(self, verdict: Verdict) -> Any:
        diverged = self.worlds.diverged
        terminated, truncated = verdict.terminated | diverged, verdict.truncated & ~diverged
        self._ended = terminated | truncated
        infos = {"success": verdict.success & ~diverged, "diverged": diverged}
        return dict(self._observation), np.where(diverged, 0.0, verdict.reward), terminated, truncated, infos

    def _chosen(self, options: Mapping[str, Any]) -> np.ndarray:
        """The worlds that are to be reset."""
        if "worlds" in options and "reset_mask" in options:
            raise InputError("reset: give `worlds` or `reset_mask`, not both")
        if "worlds" in options:
            rows = np.atleast_1d(np.asarray(options["worlds"], np.int64))
            if len(np.unique(rows)) < len(rows) or not ((rows >= 0) & (rows < self.num_envs)).all():
                raise InputError(f"reset: worlds {rows.tolist()}; expected distinct numbers below {self.num_envs}")
            return rows
        mask = np.asarray(options.get("reset_mask", np.ones(self.num_envs, bool)), bool)
        if mask.shape != (self.num_envs,):
            raise InputError(f"reset: reset_mask has shape {mask.shape}; expected ({self.num_envs},)")
        return np.flatnonzero(mask)

    def _rngs(self, seed: int | Sequence[int] | None, rows: np.ndarray) -> list[np.random.Generator]:
        k = len(rows)
        if seed is None:
            seeds = self.np_random.integers(2**63, size=k).tolist()
        else:
            seeds = [seed + i for i in range(k)] if isinstance(seed, int) else [int(s) for s in seed]
        if len(seeds) not in (k, self.num_envs):
            raise InputError(f"reset: found {len(seeds)} seeds for {k} worlds; give one for each")
        return [np.random.default_rng(s) for s in (seeds if len(seeds) == k else [seeds[row] for row in rows])]

    def _motions(self, given: Any, rngs: Sequence[np.random.Generator]) -> np.ndarray:
        if given is None:
            return np.array([self.library.sample(1, rng)[0] for rng in rngs], np.int64)
        named = [self.library.index(m) if isinstance(m, str) else int(m) for m in np.atleast_1d(given).tolist()]
        motions = np.array(named, np.int64)
        if motions.shape != (len(rngs),) or not ((motions >= 0) & (motions < len(self.library))).all():
            raise InputError(
                f"reset: motions {named}; expected {len(rngs)} names or numbers below {len(self.library)}, one for "
                "each world that is reset"
            )
        return motions

    def _states(self, given: Mapping[str, Any], rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """qpos (k, 7 + J) and qvel (k, 6 + J) of target states."""
        joints = self.robot.description.n_joints

        def part(name: str, width: int) -> np.ndarray:
            return _part(given, name, (rows, self.num_envs, width))

        if "qpos" in given:
            return part("qpos", 7 + joints), part("qvel", 6 + joints)
        parts = [part(name, size) for name, size in zip(PARTS, (3, 4, joints, 3, 3, joints), strict=True)]
        return np.concatenate(parts[:3], axis=1), np.concatenate(parts[3:], axis=1)

    @property
    def joint_pos(self) -> np.ndarray:
        """(n, J) rad; like the others below a view of the current state, which later steps do not change."""
        return self.worlds.qpos[:, 7:]

    @property
    def joint_vel(self) -> np.ndarray:
        """(n, J) rad/s."""
        return self.worlds.qvel[:, 6:]

    @property
    def root_pos(self) -> np.ndarray:
        """(n, 3) m."""
        return self.worlds.qpos[:, :3]

    @property
    def root_quat(self) -> np.ndarray:
        """(n, 4) wxyz."""
        return self.worlds.qpos[:, 3:7]

    @property
    def body_pos(self) -> np.ndarray:
        """(n, B, 3) m, bodies in the order of `robot.body_names`."""
        return self.worlds.bodies.pos

    @property
    def body_quat(self) -> np.ndarray:
        """(n, B, 4) wxyz."""
        return self.worlds.bodies.quat

    def close_extras(self, **kwargs: Any) -> None:
        self.worlds.close()


def _part(given: Mapping[str, Any], name: str, shape: tuple[np.ndarray, int, int]) -> np.ndarray:
    """One array of target states, a row for each world that is reset."""
    rows, n, width = shape
    if name not in given:
        if name.endswith("vel"):
            return np.zeros((len(rows), width))
        expected = "qpos, qvel" if name == "qpos" else ", ".join(PARTS)
        raise InputError(f"target_states: {name} is missing; expected {expected}")
    array = np.asarray(given[name], np.float64)
    if array.ndim != 2 or len(array) not in (len(rows), n) or array.shape[1] != width:
        raise InputError(
            f"target_states: {name} has shape {array.shape}; expected ({len(rows)}, {width}), a row for each world "
            f"that is reset, or ({n}, {width}), one for every world"
        )
    if not np.isfinite(array).all():
        raise InputError(f"target_states: {name} has values that are not finite")
    return array if len(array) == len(rows) else array[rows]
