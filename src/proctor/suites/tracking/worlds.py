"""N worlds in which a robot follows motions, simulated by MuJoCo's threaded rollout.

A world has a motion and a frame of it, at which it stands: 0 after a reset, one more after each step. A control step is
several physics steps with one vector of joint targets. What happens in a world follows from its motion, its generator
and its actions alone, to the byte: not from the number of worlds or threads, nor from the other worlds.

The arrays have a row for each world. A step makes new arrays and leaves the earlier ones as they are, so views of them
may be kept.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

import numpy as np

from proctor.suites.tracking.bodies import Bodies, BodyTree
from proctor.suites.tracking.motions import MotionLibrary
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.physics import Look, Physics
from proctor.suites.tracking.randomise import Pushes, RandomModels, Streams, streams
from proctor.suites.tracking.robot import Robot
from proctor.threads import cores

TARGET_LIMIT_RAD = 100.0
"""A joint target beyond this acts like this: every motor has long saturated."""

Rows = np.ndarray | slice


class Worlds:
    """`motion`, `frame`, `length` (n,): the motion that each world follows, the frame it stands at, and how many frames
    it has (no more than `max_episode_length_s` allows). `diverged` (n,): the simulation broke down in the last step;
    the world keeps the state before it. `close` lets go of the threads."""

    def __init__(self, robot: Robot, library: MotionLibrary, n: int, options: TrackingOptions):
        self.robot, self.library, self.n = robot, library, n
        self.dt_s = 1.0 / options.control_hz
        self.lengths = episode_lengths(library, options)
        self.threads = min(n, options.threads or cores())
        self._absolute, self._layout = options.action == "absolute", options.layout
        self._tree = BodyTree(robot)
        self._setup_physics(options)
        pushes = options.randomisation.pushes
        self._pushes = None if pushes is None else Pushes(pushes, n, self.dt_s)
        self.looks: np.ndarray | None = None
        """What `look_at_bodies` asked for, of the worlds that were stepped last."""
        self._clear()

    def look_at_bodies(self, look: Look) -> None:
        """Have this computed in every step, by the threads that simulate."""
        self._physics.look = look

    def _setup_physics(self, options: TrackingOptions) -> None:
        import mujoco

        self._base = copy.copy(self.robot.model)
        self._base.opt.timestep = 1.0 / options.physics_hz
        self._random = RandomModels(self._base, options.randomisation, self.n)
        self._physics = Physics(self._base, self._tree, options.substeps, self.threads)
        self._n_state = int(mujoco.mj_stateSize(self._base, mujoco.mjtState.mjSTATE_FULLPHYSICS.value))

    def _clear(self) -> None:
        """Every world stands still in the default pose, at the first frame of motion 0, before its first reset."""
        joints = self.robot.description.n_joints
        self.motion = np.zeros(self.n, np.int64)
        self.frame = np.zeros(self.n, np.int64)
        self.steps = np.zeros(self.n, np.int64)
        self.length = np.full(self.n, self.lengths[0])
        self.diverged = np.zeros(self.n, bool)
        self.last_action = np.zeros((self.n, joints), np.float32)
        self._state = np.zeros((self.n, self._n_state))
        self._state[:, 1 : 8 + joints] = self.robot.default_qpos
        self.bodies = self._tree.bodies(self._state)
        """Poses and velocities of all bodies now."""

    @property
    def qpos(self) -> np.ndarray:
        """(n, 7 + J)."""
        return self._state[:, 1 : 1 + self._base.nq]

    @property
    def qvel(self) -> np.ndarray:
        """(n, 6 + J)."""
        return self._state[:, 1 + self._base.nq : 1 + self._base.nq + self._base.nv]

    def reset(
        self,
        worlds: Sequence[int] | np.ndarray,
        motions: Sequence[int] | np.ndarray,
        rngs: Sequence[np.random.Generator],
        frames: Sequence[int] | np.ndarray | None = None,
        states: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> list[Streams]:
        """Put these worlds at a frame of their motions (the first one). `states` are qpos and qvel (k, ...) to start
        from instead of the reference's. The streams are those of the trials, for who draws more."""
        rows, motions = np.asarray(worlds, np.int64), np.asarray(motions, np.int64)
        frames = np.zeros(len(rows), np.int64) if frames is None else np.asarray(frames, np.int64)
        self.motion, self.frame, self.length = self.motion.copy(), self.frame.copy(), self.length.copy()
        self.motion[rows], self.frame[rows], self.length[rows] = motions, frames, self.lengths[motions]
        self.steps[rows], self.diverged = 0, _put(self.diverged, rows, False)
        self.last_action = _put(self.last_action, rows, 0.0)
        at = self.library.rows(motions, frames)
        reference = self.library.frames
        qpos, qvel = (reference.qpos[at], reference.qvel[at]) if states is None else states
        placed = np.concatenate([np.zeros((len(rows), 1)), qpos, qvel], axis=1)
        self._place(rows, placed, self._tree.bodies(placed))
        return [self._draw(int(world), streams(rng)) for world, rng in zip(rows, rngs, strict=True)]

    def _draw(self, world: int, trial: Streams) -> Streams:
        self._random.draw(world, trial)
        if self._pushes is not None:
            self._pushes.start(world, trial.pushes)
        return trial

    def step(self, actions: np.ndarray, worlds: np.ndarray | None = None) -> None:
        """One control step of all worlds, or of those that are named, with their actions (k, J). Raises ValueError for
        actions of another shape and for what is not finite; nothing has been stepped then."""
        rows: Rows = slice(None) if worlds is None else worlds
        numbers = np.arange(self.n) if worlds is None else worlds
        targets = self.targets(actions, numbers)
        before = self._pushed(self._state[rows], numbers)
        models = self._random.models
        moved = self._physics.step(models if worlds is None else [models[w] for w in worlds], before, targets)
        self.diverged = _put(self.diverged, rows, moved.broken)
        self.last_action = _put(self.last_action, rows, actions)
        self.frame = self.frame.copy()
        self.frame[rows] += 1
        self.steps[rows] += 1
        self.looks = moved.looks
        self._place(rows, moved.states, moved.bodies)

    def _pushed(self, states: np.ndarray, worlds: np.ndarray) -> np.ndarray:
        """The states from which these worlds are simulated."""
        due = [] if self._pushes is None else self._pushes.due(worlds, self.steps[worlds])
        if not due:
            return states
        states = states.copy()
        for i, change in due:
            states[i, 1 + self._base.nq : 3 + self._base.nq] += change
        return states

    def targets(self, actions: np.ndarray, worlds: np.ndarray) -> np.ndarray:
        """Joint targets (k, J) in rad of the actions (k, J) of these worlds."""
        description = self.robot.description
        expected = (len(worlds), description.n_joints)
        if actions.shape != expected:
            raise ValueError(f"actions have shape {actions.shape}; expected {expected}: worlds and joints")
        targets = actions.astype(np.float64)
        if self._layout is not None:
            targets = self._layout.acted(targets)
        if not self._absolute:
            targets *= description.action_scale
            targets += description.default_pose
        if not math.isfinite(np.add.reduce(targets, axis=None)):
            wrong = worlds[~np.isfinite(targets).all(axis=1)]
            if len(wrong):
                raise ValueError(f"the action of world {', '.join(map(str, wrong[:5]))} is not finite")
        np.minimum(targets, TARGET_LIMIT_RAD, out=targets)
        return np.maximum(targets, -TARGET_LIMIT_RAD, out=targets)

    def _place(self, rows: Rows, states: np.ndarray, bodies: Bodies) -> None:
        if isinstance(rows, slice):
            self._state, self.bodies = states, bodies
        else:
            self._state = _put(self._state, rows, states)
            self.bodies = Bodies(*(_put(old, rows, new) for old, new in zip(self.bodies, bodies, strict=True)))

    def close(self) -> None:
        """Let go of the threads; safe to call twice."""
        self._physics.close()


def _put(array: np.ndarray, rows: Rows, values: object) -> np.ndarray:
    """A copy with these rows replaced."""
    if isinstance(rows, slice) and isinstance(values, np.ndarray) and rows == slice(None):
        return values.astype(array.dtype)
    out = array.copy()
    out[rows] = values
    return out


def episode_lengths(library: MotionLibrary, options: TrackingOptions) -> np.ndarray:
    """Frames of each motion that are followed, (M,)."""
    if options.max_episode_length_s is None:
        return library.lengths
    longest = 1 + max(1, round(options.max_episode_length_s * options.control_hz))
    return np.minimum(library.lengths, longest)
