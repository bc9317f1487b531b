"""The rewards of the tasks: pure functions of (robot, qpos, qvel, action), with values in [0, 1].

A reward is the product of tolerance terms, each on one measured quantity; `docs/reward-tasks.md` has the table. H is
the height of the root in the robot's default pose, so that nothing but the numbers in a task's name is in metres.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from proctor.errors import InputError
from proctor.suites.tracking.robot import Robot
from proctor.suites.tracking.tasks.names import Task, parse_task
from proctor.suites.tracking.tasks.posture import Limbs, Posture, PostureReader

INF = float("inf")
Legacy = Literal["bfm_zero"]

CONTROL_SHARE = 0.2
"""How much of a reward large actions can cost."""


AT_MARGIN = 0.1
"""The value of a gaussian tolerance one margin outside the interval."""


@dataclass(frozen=True)
class Tolerance:
    """1 within [lower, upper], falling outside: with d the distance to the interval in margins,

    - gaussian: 0.1 ** (d * d), so 0.1 one margin outside, and never 0;
    - linear: max(0, 1 - d), so 0 from one margin on.

    The margin is positive, in the unit of the quantity; NaN gives 0, since a state that cannot be measured earns
    nothing.
    """

    lower: float
    upper: float
    margin: float
    shape: Literal["gaussian", "linear"] = "gaussian"

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise ValueError(f"an interval has lower <= upper, not [{self.lower}, {self.upper}]")
        if not (self.margin > 0 and np.isfinite(self.margin)):
            raise ValueError(f"a margin is positive and finite, not {self.margin}")

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Of any shape, in [0, 1]."""
        values = np.asarray(values, np.float64)
        outside = np.maximum(np.maximum(self.lower - values, values - self.upper), 0.0) / self.margin
        soft = AT_MARGIN ** np.square(outside) if self.shape == "gaussian" else np.maximum(0.0, 1.0 - outside)
        return np.where(np.isnan(values), 0.0, soft)


@dataclass(frozen=True)
class Term:
    """One factor: a tolerance on a quantity (N,) or (N, k); several columns are multiplied."""

    name: str
    quantity: Callable[[Posture], np.ndarray]
    tolerance: Tolerance

    def __call__(self, posture: Posture) -> np.ndarray:
        values = self.tolerance(self.quantity(posture))
        return values if values.ndim == 1 else np.prod(values, axis=1)


class TaskReward:
    """The reward of one task for one robot."""

    def __init__(self, task: Task, robot: Robot, reader: PostureReader):
        self.task, self.robot, self._reader = task, robot, reader
        self._terms = terms_of(task, robot.description.default_height)

    @property
    def name(self) -> str:
        return str(self.task)

    @property
    def reader(self) -> PostureReader:
        """What measures the states that `of_posture` takes."""
        return self._reader

    def terms(self, posture: Posture, action: np.ndarray) -> dict[str, np.ndarray]:
        """Each factor by name, (N,) in [0, 1]; `control` is the last."""
        found = {term.name: term(posture) for term in self._terms}
        return {**found, "control": control(action)}

    def of_posture(self, posture: Posture, action: np.ndarray) -> np.ndarray:
        """The reward (N,) of states measured before: what is measured once serves many tasks."""
        return np.prod(np.stack(list(self.terms(posture, action).values())), axis=0)

    def __call__(self, qpos: np.ndarray, qvel: np.ndarray, action: np.ndarray) -> np.ndarray:
        """The reward of states (N, 7 + J), (N, 6 + J) and actions (N, J): (N,). One state without the leading axis
        gives a scalar array. A state that is not finite has reward 0."""
        qpos, qvel, action = (np.asarray(array, np.float64) for array in (qpos, qvel, action))
        single = qpos.ndim == 1
        if single:
            qpos, qvel, action = qpos[None], qvel[None], action[None]
        joints = self.robot.description.n_joints
        if action.shape != (len(qpos), joints):
            raise InputError(f"action has shape {action.shape}; ({len(qpos)}, {joints}) was expected beside qpos")
        rewards = self.of_posture(self._reader(qpos, qvel), action)
        return rewards[0] if single else rewards


def task_reward(
    task: str | Task, robot: Robot, limbs: Limbs | None = None, *, legacy: Legacy | None = None
) -> TaskReward:
    """The reward function of a task, by name, for a robot. `legacy`: by the formulas of this older benchmark."""
    return task_rewards([task], robot, limbs, legacy=legacy)[0]


def task_rewards(
    tasks: list[str | Task] | list[str], robot: Robot, limbs: Limbs | None = None, *, legacy: Legacy | None = None
) -> list[TaskReward]:
    """The same for several tasks, which share the measuring of states."""
    wanted = [parse_task(task) if isinstance(task, str) else task for task in tasks]
    if legacy is not None:
        from proctor.suites.tracking.tasks.legacy import LegacyReader, LegacyReward

        measuring = LegacyReader(robot)
        return [LegacyReward(task, robot, measuring) for task in wanted]
    reader = PostureReader(robot, limbs)
    return [TaskReward(task, robot, reader) for task in wanted]


def control(action: np.ndarray) -> np.ndarray:
    """1 for actions within [-1, 1], down to 0.8 where every joint's is 5 or more: (N, J) -> (N,)."""
    small = Tolerance(-1.0, 1.0, 4.0, "linear")(action).mean(axis=1)
    return 1.0 - CONTROL_SHARE * (1.0 - small)


LEVELS: dict[str, Tolerance | None] = {
    "l": Tolerance(-INF, -0.6, 0.5),
    "m": Tolerance(-0.25, 0.25, 0.5),
    "h": Tolerance(0.6, INF, 0.5),
    "x": None,
}
"""Height of a hand over its shoulder in arm's lengths."""


def upright() -> Term:
    """1 within 26 degrees of the vertical, 0 from lying on."""
    return Term("upright", lambda p: p.torso_up, Tolerance(0.9, INF, 0.9, "linear"))


def root_within(lower: float, upper: float, margin: float) -> Term:
    return Term("height", lambda p: p.root_height, Tolerance(lower, upper, margin))


def standing(h: float) -> Term:
    return root_within(0.9 * h, 1.15 * h, 0.3 * h)


def at_height(height: float, h: float) -> Term:
    return root_within(height - 0.05, height + 0.05, 0.3 * h)


def moving(angle_deg: float, speed: float) -> Term:
    """On the distance of the velocity to the wanted one, m/s."""
    angle = np.deg2rad(angle_deg)
    wanted = speed * np.array([np.cos(angle), np.sin(angle)])
    margin = max(speed / 2, 0.25)
    return Term("velocity", lambda p: np.linalg.norm(p.velocity - wanted, axis=1), Tolerance(0.0, 0.1, margin))


def facing() -> Term:
    return Term("turning", lambda p: p.turn_rate, Tolerance(-0.3, 0.3, 1.5))


def spinning(rate: float, axis: int) -> Term:
    near, margin = 0.1 * abs(rate), max(abs(rate) / 2, 0.25)
    return Term("rotation", lambda p: p.rates[:, axis], Tolerance(rate - near, rate + near, margin))


def hands(left: str, right: str) -> list[Term]:
    return [
        Term(f"{side}_hand", lambda p, column=column: p.hands[:, column], tolerance)
        for column, (side, level) in enumerate((("left", left), ("right", right)))
        if (tolerance := LEVELS[level]) is not None
    ]


def terms_of(task: Task, h: float) -> list[Term]:
    """The factors of a task but `control`, for a robot whose root stands at height `h`."""
    still = moving(0.0, 0.0)
    match task.family, task.values:
        case "move-ego", (angle, speed):
            return [upright(), standing(h), moving(angle, speed), facing()]
        case "move-ego-low", (height, angle, speed):
            return [upright(), at_height(height, h), moving(angle, speed), facing()]
        case "jump", (height,):
            if height <= h:
                raise InputError(
                    f'"{task}" asks for no jump: the root of this robot is {h:g} m high when it stands; name a greater '
                    "height"
                )
            return [upright(), root_within(height, INF, max(height - h, 0.05))]
        case "rotate", (axis, rate, height):
            column = "xyz".index(axis)
            straight = Tolerance(0.9, INF, 0.9, "linear") if axis == "z" else Tolerance(-0.3, 0.3, 0.7, "linear")
            along = Term("axis", lambda p: p.axes_up[:, column], straight)
            return [along, root_within(height, INF, 0.3 * h), spinning(rate, column)]
        case "raisearms", (left, right):
            return [upright(), standing(h), still, facing(), *hands(left, right)]
        case "crouch", (height,):
            feet = Term("feet", lambda p: p.feet, Tolerance(-INF, 0.05, 0.2 * h))
            return [upright(), at_height(height, h), still, feet]
        case "sitonground", ():
            return [upright(), root_within(-INF, 0.25 * h, 0.2 * h), still, facing()]
        case "move-arms", (angle, speed, left, right):
            return [upright(), standing(h), moving(angle, speed), facing(), *hands(left, right)]
        case "spin-arms", (rate, left, right):
            return [upright(), standing(h), still, spinning(rate, 2), *hands(left, right)]
    raise InputError(f'"{task}" has a reward by the original formulas only; set legacy: bfm_zero, or leave it out')
