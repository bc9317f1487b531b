"""Domain randomisation: what differs from trial to trial, drawn from the trial's own generator.

Every quantity has a stream of its own, spawned from the trial's generator in a fixed order. So switching one of them
on or off changes nothing in the others, and a trial is the same whatever runs beside it.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from pydantic import AfterValidator, Field

from proctor.suites.protocol import SuiteOptions

if TYPE_CHECKING:
    import mujoco


def _ordered(span: tuple[float, float]) -> tuple[float, float]:
    if span[0] > span[1]:
        raise ValueError(f"found [{span[0]:g}, {span[1]:g}]; expected [low, high] with low <= high")
    return span


_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Span = Annotated[tuple[_Positive, _Positive], AfterValidator(_ordered)]
"""[low, high], both positive."""


class PushCfg(SuiteOptions):
    """A push changes the root's velocity at once, in a random horizontal direction."""

    every_s: Span = (1.0, 3.0)
    """Time from the start to the first push, and from each push to the next: uniform."""
    velocity_m_s: _Positive = 0.5
    """Size of the largest push; sizes are uniform from 0."""


class RandomiseCfg(SuiteOptions):
    """Factors on the robot's own values, uniform in [low, high]; null: not randomised."""

    mass: Span | None = None
    """Of mass and inertia, for each body."""
    friction: Span | None = None
    """Of all contacts, one factor for a trial."""
    stiffness: Span | None = None
    """Of each motor."""
    damping: Span | None = None
    """Of each motor."""
    pushes: PushCfg | None = None

    @property
    def changes_model(self) -> bool:
        return any(span is not None for span in (self.mass, self.friction, self.stiffness, self.damping))


class NoiseCfg(SuiteOptions):
    """Sensor noise on the `state` observation, uniform within plus and minus these."""

    joint_pos: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """rad."""
    joint_vel: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """rad/s."""
    gravity: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Of each component of the unit vector."""
    angular_velocity: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """rad/s."""

    def amplitudes(self, n_joints: int) -> np.ndarray | None:
        """Of each entry of `state`, (2J + 6,); None where there is no noise at all."""
        per_part = (self.joint_pos, self.joint_vel, self.gravity, self.angular_velocity)
        return np.repeat(per_part, (n_joints, n_joints, 3, 3)) if any(per_part) else None


class Streams(NamedTuple):
    """One generator for each random quantity of a trial."""

    mass: np.random.Generator
    friction: np.random.Generator
    stiffness: np.random.Generator
    damping: np.random.Generator
    pushes: np.random.Generator
    noise: np.random.Generator


def streams(rng: np.random.Generator) -> Streams:
    return Streams(*rng.spawn(len(Streams._fields)))


class RandomModels:
    """A model for each world. `models` is what a rollout takes; without randomisation it is one model n times."""

    def __init__(self, base: mujoco.MjModel, cfg: RandomiseCfg, n: int):
        import mujoco

        self._base, self._cfg = base, cfg
        self._scratch = mujoco.MjData(base) if cfg.changes_model else None
        self.models = [copy.copy(base) for _ in range(n)] if cfg.changes_model else [base] * n

    def draw(self, world: int, trial: Streams) -> None:
        """Give a world the values of a new trial. They follow from the base model and the streams alone."""
        if not self._cfg.changes_model:
            return
        cfg, base, model = self._cfg, self._base, self.models[world]
        if cfg.friction is not None:
            model.geom_friction[:] = base.geom_friction * trial.friction.uniform(*cfg.friction)
        if cfg.stiffness is not None:
            factor = trial.stiffness.uniform(*cfg.stiffness, base.nu)
            model.actuator_gainprm[:, 0] = base.actuator_gainprm[:, 0] * factor
            model.actuator_biasprm[:, 1] = base.actuator_biasprm[:, 1] * factor
        if cfg.damping is not None:
            factor = trial.damping.uniform(*cfg.damping, base.nu)
            model.actuator_biasprm[:, 2] = base.actuator_biasprm[:, 2] * factor
        if cfg.mass is not None:
            self._draw_mass(model, trial.mass.uniform(*cfg.mass, base.nbody))

    def _draw_mass(self, model: mujoco.MjModel, factor: np.ndarray) -> None:
        """Masses, and the constants of the model that follow from them."""
        import mujoco

        model.body_mass[:] = self._base.body_mass * factor
        model.body_inertia[:] = self._base.body_inertia * factor[:, None]
        mujoco.mj_setConst(model, self._scratch)


class Pushes:
    """When each of n worlds is pushed next, and how."""

    def __init__(self, cfg: PushCfg, n: int, dt_s: float):
        self._cfg, self._dt_s = cfg, dt_s
        self._next = np.full(n, -1, np.int64)
        self._rngs: list[np.random.Generator | None] = [None] * n

    def start(self, world: int, rng: np.random.Generator) -> None:
        self._rngs[world] = rng
        self._next[world] = self._interval(rng)

    def next_step(self, world: int) -> int:
        """After so many steps the world is pushed next; -1 where it never is."""
        return int(self._next[world])

    def _interval(self, rng: np.random.Generator) -> int:
        return max(1, round(rng.uniform(*self._cfg.every_s) / self._dt_s))

    def due(self, worlds: np.ndarray, steps: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """(position in `worlds`, change of velocity (2,) in m/s) for those that are pushed before the step after
        `steps` steps."""
        found = []
        for i in np.flatnonzero(self._next[worlds] == steps):
            world = int(worlds[i])
            rng = self._rngs[world]
            assert rng is not None
            angle, size = rng.uniform(0, 2 * np.pi), rng.uniform(0, self._cfg.velocity_m_s)
            self._next[world] += self._interval(rng)
            found.append((int(i), size * np.array([np.cos(angle), np.sin(angle)])))
        return found


class SensorNoise:
    """Noise for each of n worlds. It is drawn for many steps at once, so that a step costs one look-up."""

    BLOCK = 32

    def __init__(self, amplitudes: np.ndarray, n: int):
        self._amplitudes = amplitudes
        self._drawn = np.zeros((n, self.BLOCK, len(amplitudes)))
        self._used = np.zeros(n, np.int64)
        self._rngs: list[np.random.Generator | None] = [None] * n

    def start(self, world: int, rng: np.random.Generator) -> None:
        self._rngs[world], self._used[world] = rng, 0

    def take(self, worlds: np.ndarray) -> np.ndarray:
        """The next noise of these worlds, (k, 2J + 6); zero for one without a trial."""
        place = self._used[worlds] % self.BLOCK
        for world in worlds[place == 0]:
            rng = self._rngs[world]
            if rng is not None:
                self._drawn[world] = rng.uniform(-1.0, 1.0, self._drawn.shape[1:]) * self._amplitudes
        self._used[worlds] += 1
        return self._drawn[worlds, place]
