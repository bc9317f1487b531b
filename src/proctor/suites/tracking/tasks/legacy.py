"""`legacy: bfm_zero`: the reward tasks by the formulas of BFM-Zero's own benchmark, written down from what it computes.

Quantities, of a G1: the heights of pelvis, wrists (their roll links) and knees; the velocity of the centre of mass of
all that hangs on the torso; the z axis and the gyroscope of the sensor in the torso, which is turned as the torso is;
the height of the middle of the head. With d the distance to an interval in margins, a tolerance is 1 inside, and
outside

    linear(v):    1 - (1 - v) d, not below 0
    gaussian(v):  v ** (d * d)

where v is its value one margin outside. Two things are as they are there: `jump` reads as uprightness the vertical
component of the torso's y axis, which is 0 when it stands; and actions cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from proctor.errors import InputError
from proctor.suites.tracking import rotations
from proctor.suites.tracking.motions import Frames
from proctor.suites.tracking.robot import Robot
from proctor.suites.tracking.tasks.names import Task
from proctor.suites.tracking.tasks.posture import PostureReader
from proctor.suites.tracking.tasks.rewards import TaskReward

INF = float("inf")
HEAD, HEAD_IN_TORSO_M = "head", (0.00765094, 0.0000248, 0.3751318)
"""The geometry whose middle is the head's, and where it is in the torso of a model that has none."""
UPRIGHT = np.array([0.073, 0.0, 1.0])
"""The sensor's z axis of a robot that stands as the original takes for straight."""
STAND_M = 0.5
Level = tuple[float, float, float]
HAND_LEVELS: dict[str, Level] = {"l": (0.6, 0.8, 0.2), "m": (1.0, INF, 0.1)}
"""Height of a wrist over the floor, m: lower, upper, margin."""
KNEE_LEVEL: Level = (0.0, 0.4, 0.2)


def tolerance(values: np.ndarray, lower: float, upper: float, margin: float, v: float, linear: bool) -> np.ndarray:
    """See the module. Without a margin: 1 inside, 0 outside. NaN gives 0."""
    values = np.asarray(values, np.float64)
    outside = np.maximum(np.maximum(lower - values, values - upper), 0.0)
    if margin == 0:
        return np.where(outside == 0, 1.0, 0.0)
    d = outside / margin
    return np.nan_to_num(np.maximum(0.0, 1.0 - (1.0 - v) * d) if linear else v ** (d * d))


def still(values: np.ndarray, margin: float) -> np.ndarray:
    """The mean over columns (N, k) of gaussian tolerances of 0, with 0.1 at the margin."""
    return tolerance(values, 0.0, 0.0, margin, 0.1, linear=False).mean(axis=1)


@dataclass(frozen=True, eq=False)
class LegacyPosture:
    """N states, in m, m/s and rad/s."""

    root_height: np.ndarray
    heading: np.ndarray
    axes_up: np.ndarray
    """(N, 3): vertical components of the root's axes."""
    torso_up: np.ndarray
    """(N, 3): vertical components of the torso's axes."""
    torso_z: np.ndarray
    """(N, 3): its z axis in the world."""
    com_velocity: np.ndarray
    """(N, 3) in the world."""
    gyro: np.ndarray
    """(N, 3) of the torso, about its own axes."""
    head_height: np.ndarray
    hands: np.ndarray
    """(N, 2) heights of the wrists, left and right."""
    knees: np.ndarray
    """(N, 2)."""


class LegacyReader(PostureReader):
    """Measures states of a G1. InputError where the robot has not its bodies."""

    def __init__(self, robot: Robot):
        self.robot = robot
        self._torso = robot.body_index("torso_link")
        self._hands = robot.body_indices([f"{side}_wrist_roll_link" for side in ("left", "right")])
        self._knees = robot.body_indices([f"{side}_knee_link" for side in ("left", "right")])
        model = robot.model
        above = np.array([_hangs_on(model, body, self._torso + 1) for body in range(1, model.nbody)])
        self._carried, self._masses = np.flatnonzero(above), model.body_mass[1:][above]
        self._centres = model.body_ipos[1:][above]
        names = [model.geom(g).name for g in range(model.ngeom)]
        self._head = np.array(model.geom(HEAD).pos if HEAD in names else HEAD_IN_TORSO_M)

    def _measure(self, qpos: np.ndarray, qvel: np.ndarray) -> LegacyPosture:  # type: ignore[override]
        state = Frames.of(self.robot, qpos, qvel)
        root, torso = state.body_quat[:, self.robot.root], state.body_quat[:, self._torso]
        at, turn = self._carried, state.body_quat[:, self._carried]
        offset = rotations.rotate(turn, np.broadcast_to(self._centres, (len(qpos), *self._centres.shape)))
        speed = state.body_lin_vel[:, at] + np.cross(state.body_ang_vel[:, at], offset)
        cos, sin = rotations.heading(root)
        return LegacyPosture(
            root_height=state.body_pos[:, self.robot.root, 2],
            heading=np.arctan2(sin, cos),
            axes_up=-rotations.gravity_in(root),
            torso_up=-rotations.gravity_in(torso),
            torso_z=rotations.rotate(torso, np.broadcast_to([0.0, 0.0, 1.0], (len(qpos), 3))),
            com_velocity=(self._masses[:, None] * speed).sum(axis=1) / self._masses.sum(),
            gyro=rotations.into(torso, state.body_ang_vel[:, self._torso]),
            head_height=(state.body_pos[:, self._torso] + rotations.rotate(torso, np.tile(self._head, (len(qpos), 1))))[
                :, 2
            ],
            hands=state.body_pos[:, self._hands, 2],
            knees=state.body_pos[:, self._knees, 2],
        )


def _hangs_on(model: object, body: int, ancestor: int) -> bool:
    while body not in (0, ancestor):
        body = int(model.body_parentid[body])  # type: ignore[attr-defined]
    return body == ancestor


Factors = dict[str, np.ndarray]


class LegacyReward(TaskReward):
    """The original reward of one task."""

    def __init__(self, task: Task, robot: Robot, reader: LegacyReader):
        self.task, self.robot, self._reader = task, robot, reader
        self._factors = factors_of(task)

    def terms(self, posture: LegacyPosture, action: np.ndarray) -> Factors:  # type: ignore[override]
        """Each factor by name, (N,) in [0, 1]."""
        return self._factors(posture)


def factors_of(task: Task) -> Callable[[LegacyPosture], Factors]:
    """What a task's reward is the product of. Raises InputError for a level of hands that is not there."""
    levels = [value for value in task.values if value in ("l", "m", "h", "x")] if "{left}" in task.form else []
    if unknown := [level for level in levels if level not in HAND_LEVELS]:
        raise InputError(
            f'"{task}": the original formulas (legacy: bfm_zero) have no level {unknown[0]} of a hand, only '
            f"{' and '.join(HAND_LEVELS)}"
        )
    hands = [HAND_LEVELS[level] for level in levels]
    match task.family, task.values:
        case "move-ego", (angle, speed):
            return lambda p: {**_upright(p), **_high(p, STAND_M), **_moving(p, angle, speed, 0.01)}
        case "move-ego-low", (height, angle, speed):
            return lambda p: {**_upright(p), **_low(p, height), **_moving(p, angle, speed, 0.01)}
        case "jump", (height,):
            return lambda p: _jumping(p, height)
        case "rotate", (axis, rate, height):
            return lambda p: {**_high(p, height), **_spinning(p, "xyz".index(axis), rate)}
        case "raisearms", (_, _):
            return lambda p: {
                **_upright(p), **_high(p, STAND_M), **_still(p, p.com_velocity, 0.2), **_hands(p, *hands)
            }  # fmt: skip
        case "crouch", (height,):
            return lambda p: {**_upright(p), **_still(p, p.com_velocity, 0.5), **_down(p, height, (0.2, 1.0, 0.1))}
        case "sitonground", ():
            return lambda p: {**_upright(p), **_still(p, p.com_velocity, 0.5), **_down(p, 0.0, (0.0, 0.1, 0.7))}
        case "move-ego-low", (angle, speed, _, _):
            return lambda p: {
                **_upright(p), **_between(p), **_moving(p, angle, speed, 0.0),
                **_hands(p, *hands),
            }  # fmt: skip
        case "move-arms", (angle, speed, _, _):
            return lambda p: {
                **_upright(p), **_high(p, STAND_M), **_moving(p, angle, speed, 0.0), **_hands(p, *hands)
            }  # fmt: skip
        case "spin-arms", (rate, _, _):
            return lambda p: {
                **_high(p, STAND_M),
                **_spinning(p, 2, rate),
                **_hands(p, *hands),
            }
        case "totheknee", ():
            return lambda p: {
                **_upright(p), **_high(p, 0.4), "still": still(p.com_velocity, 0.2),
                **_hands(p, KNEE_LEVEL, KNEE_LEVEL),
            }  # fmt: skip
    raise TypeError(f"no original reward is written for {task.family}")


def _upright(p: LegacyPosture) -> Factors:
    lean = np.square(p.torso_z - UPRIGHT).sum(axis=1)
    return {"upright": tolerance(lean, 0.0, 0.1, 3.0, 0.0, linear=True)}


def _high(p: LegacyPosture, height: float) -> Factors:
    return {"height": tolerance(p.root_height, height, INF, height, 0.01, linear=True)}


def _low(p: LegacyPosture, height: float) -> Factors:
    return {"height": tolerance(p.root_height, 0.95 * height, 1.05 * height, height / 2, 0.01, linear=True)}


def _between(p: LegacyPosture) -> Factors:
    return {"height": tolerance(p.root_height, STAND_M / 2, STAND_M, STAND_M / 2, 0.01, linear=True)}


def _still(p: LegacyPosture, velocity: np.ndarray, margin: float) -> Factors:
    return {"still": still(velocity, margin), "turning": still(p.gyro, 0.1)}


def _moving(p: LegacyPosture, angle_deg: float, speed: float, slow: float) -> Factors:
    """Up to the speed `slow`, standing still."""
    flat = p.com_velocity[:, :2]
    if speed <= slow:
        return _still(p, flat, 0.2)
    own = np.linalg.norm(flat, axis=1)
    fast = tolerance(own, 0.9 * speed, 1.1 * speed, speed / 2, 0.5, linear=False)
    angle = np.deg2rad(angle_deg) + p.heading
    along = (flat * np.stack([np.cos(angle), np.sin(angle)], axis=1)).sum(axis=1) / (own + 1e-6)
    return {"velocity": (5 * fast + 1) / 6, "direction": np.where(np.isclose(own, 0.0), 1.0, (along + 1) / 2)}


def _jumping(p: LegacyPosture, height: float) -> Factors:
    return {
        "height": tolerance(p.head_height, height, height + 0.1, height, 0.01, linear=True),
        "upright": tolerance(p.torso_up[:, 1], 0.9, INF, 1.9, 0.0, linear=True),
        "velocity": tolerance(p.com_velocity[:, 2], 5.0, INF, 5.0, 0.0, linear=True),
    }


def _spinning(p: LegacyPosture, axis: int, rate: float) -> Factors:
    wanted = abs(rate)
    along = (0.9, INF) if axis == 2 else (-0.1, 0.1)
    return {
        "rotation": tolerance(np.sign(rate) * p.gyro[:, axis], wanted, wanted + 5, wanted / 2, 0.0, linear=True),
        "axis": tolerance(p.axes_up[:, axis], *along, 0.9, 0.0, linear=True),
    }


def _hands(p: LegacyPosture, left: Level, right: Level) -> Factors:
    found = {}
    for column, (side, level) in enumerate((("left", left), ("right", right))):
        reached = tolerance(p.hands[:, column], *level, 0.0, linear=True)
        found[f"{side} hand"] = (4 * reached + 1) / 5
    return found


def _down(p: LegacyPosture, height: float, knees: tuple[float, float, float]) -> Factors:
    bent = tolerance(p.knees, *knees, 0.0, linear=True).prod(axis=1)
    root = tolerance(p.root_height, height, height + 0.1, 0.7, 0.0, linear=True)
    return {"height": root, "knees": (2 * bent + 1) / 3}
