"""Motions without files: `squat`, `wave`, `sway`, `bow`, `step_in_place`, `reach`, `turn`, `kick`.

They begin and end in the default pose, last 4 to 8 seconds, keep the joints within their limits, a sole on the floor
and the centre of mass above the feet that carry it. A seed changes amplitudes, speeds and sides.

From a sketch to such a motion: the robot leans from the ankles, forwards and sideways, until its centre of mass is
where the sketch puts the weight; then the root is placed so that the feet that carry it stay where they are and the
lowest sole touches the floor."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

import numpy as np

from proctor.errors import InputError
from proctor.registry import did_you_mean
from proctor.suites.tracking.motions.motion import Motion
from proctor.suites.tracking.motions.recipes import RECIPES, SIDES, SWINGING, Sketch
from proctor.suites.tracking.robot import Robot
from proctor.suites.tracking.rotations import about, multiply

FPS = 50.0


def make_procedural(what: str, robot: Robot) -> list[Motion]:
    """The motions that `all`, a name, or either with `?seed=N` means. With a seed other than 0 a motion is called
    `NAME-seedN`. Raises InputError for an unknown name and a robot that is built otherwise."""
    found = re.fullmatch(r"(\w+)(?:\?seed=(\d+))?", what)
    if not found:
        raise InputError(f'"procedural:{what}": expected procedural:all, procedural:NAME or procedural:NAME?seed=3')
    name, seed = found[1], int(found[2] or 0)
    if name != "all" and name not in RECIPES:
        raise InputError(
            f'no procedural motion "{name}"' + did_you_mean(name, RECIPES) + f" (known: all, {', '.join(RECIPES)})"
        )
    return [procedural(each, robot, seed) for each in (RECIPES if name == "all" else [name])]


def procedural(name: str, robot: Robot, seed: int = 0) -> Motion:
    """One motion: the same for the same name, robot and seed."""
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
    sketch = RECIPES[name](rng, FPS)
    root_pos, root_quat, joint_pos = balanced(sketch, robot)
    return Motion(
        name=name if seed == 0 else f"{name}-seed{seed}",
        fps=FPS,
        root_pos=root_pos,
        root_quat=root_quat,
        joint_pos=joint_pos,
    )


_NUDGE = 1e-3
_NUDGES = np.array([[[_NUDGE, 0.0]], [[0.0, _NUDGE]]])
_ROUNDS = 3


@dataclass(frozen=True)
class Stance:
    """What the floor sees of each pose, with the root at the origin; (T, ...)."""

    com: np.ndarray
    """(T, 2)."""
    feet: np.ndarray
    """(T, 2, 2): left and right, xy of the middle of the sole."""
    lowest: np.ndarray
    """(T,): the lowest point of both soles."""


def balanced(sketch: Sketch, robot: Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Root position (T, 3), root quaternion (T, 4), joints (T, J). Raises InputError for a robot without the joints
    that the sketch names."""
    joints = _joints(sketch, robot)
    n = len(sketch.t)
    quat = multiply(
        about(np.array([0.0, 0, 1]), np.broadcast_to(sketch.yaw, n)),
        about(np.array([0.0, 1, 0]), np.broadcast_to(sketch.pitch, n)),
    )
    share = np.broadcast_to(sketch.left_share, n)
    joints = _leaning(robot, quat, joints, share)
    stance = _stance(robot, quat, joints)
    return _placed(stance, share), quat, joints


def _joints(sketch: Sketch, robot: Robot) -> np.ndarray:
    names = robot.description.joint_names
    needed = {*sketch.joints, *(f"{side}_ankle_{axis}_joint" for side in SIDES for axis in ("pitch", "roll"))}
    missing = sorted(needed - set(names))
    if missing:
        raise InputError(
            f"procedural motions need joints named as on the Unitree G1; {robot.description.name} has no "
            f"{', '.join(missing)}"
        )
    joints = np.tile(robot.description.default_pose, (len(sketch.t), 1))
    for name, curve in sketch.joints.items():
        joints[:, names.index(name)] += curve
    return _within(joints, robot)


def _within(joints: np.ndarray, robot: Robot) -> np.ndarray:
    return np.clip(joints, *robot.joint_range.T)


def _leaning(robot: Robot, quat: np.ndarray, joints: np.ndarray, share: np.ndarray) -> np.ndarray:
    """The poses with the centre of mass above the share-weighted soles, as far from there as in the default pose."""
    still = np.array([[1.0, 0, 0, 0]])
    rest = _miss(_stance(robot, still, robot.description.default_pose[None]), np.array([0.5]))
    turned = _xy_turned(quat, rest)
    lean, slope = np.zeros((len(joints), 2)), None
    for _ in range(_ROUNDS):
        miss = _miss(_stance(robot, quat, _lean(robot, joints, lean)), share) - turned
        if slope is None:
            nudged = [_miss(_stance(robot, quat, _lean(robot, joints, nudge)), share) - turned for nudge in _NUDGES]
            slope = np.stack([(after - miss) / _NUDGE for after in nudged], axis=-1)
        lean -= np.linalg.solve(slope, miss[..., None])[..., 0]
    return _within(_lean(robot, joints, lean), robot)


def _xy_turned(quat: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """A horizontal offset (1, 2), turned by each rotation's yaw."""
    w, x, y, z = quat.T
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y**2 + z**2))
    c, s = np.cos(yaw), np.sin(yaw)
    return np.stack([c * offset[:, 0] - s * offset[:, 1], s * offset[:, 0] + c * offset[:, 1]], axis=-1)


def _lean(robot: Robot, joints: np.ndarray, lean: np.ndarray) -> np.ndarray:
    """Legs tilted as parallel bars: hips and ankles turn against each other."""
    names = robot.description.joint_names
    tilted = joints.copy()
    for column, axis in enumerate(("pitch", "roll")):
        for side in SIDES:
            tilted[:, names.index(f"{side}_ankle_{axis}_joint")] += lean[:, column]
            tilted[:, names.index(f"{side}_hip_{axis}_joint")] -= lean[:, column]
    return tilted


def _miss(stance: Stance, share: np.ndarray) -> np.ndarray:
    """From where the weight should be to where it is, (T, 2)."""
    weights = np.stack([share, 1 - share], axis=-1)
    return stance.com - (weights[..., None] * stance.feet).sum(axis=1)


def _stance(robot: Robot, quat: np.ndarray, joints: np.ndarray) -> Stance:
    import mujoco

    model, data = robot.model, mujoco.MjData(robot.model)
    soles = [_sole_geoms(robot, side) for side in SIDES]
    com, points = np.empty((len(joints), 2)), np.empty((len(joints), model.ngeom, 3))
    qpos = np.concatenate([np.zeros((len(joints), 3)), quat, joints], axis=1)
    for t in range(len(joints)):
        data.qpos[:] = qpos[t]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        com[t] = data.subtree_com[robot.root + 1, :2]
        points[t] = data.geom_xpos
    feet = np.stack([points[:, sole, :2].mean(axis=1) for sole in soles], axis=1)
    both = np.concatenate(soles)
    return Stance(com, feet, (points[:, both, 2] - model.geom_rbound[both]).min(axis=1))


def _sole_geoms(robot: Robot, side: str) -> np.ndarray:
    """The geoms of a foot that can touch the floor."""
    model = robot.model
    joint = 1 + robot.description.joint_names.index(f"{side}_ankle_roll_joint")
    geoms = np.flatnonzero(model.geom_bodyid == model.jnt_bodyid[joint])
    touching = geoms[(model.geom_contype[geoms] | model.geom_conaffinity[geoms]) > 0]
    if not len(touching):
        raise InputError(
            f"procedural motions need feet: {robot.description.name} has no contact geometry on its {side} foot"
        )
    return touching


def _placed(stance: Stance, share: np.ndarray) -> np.ndarray:
    """The root's path: it moves against the feet that carry the weight; one with hardly any does not count."""
    left = np.clip((share - SWINGING) / (1 - 2 * SWINGING), 0.0, 1.0)
    weights = np.stack([left, 1 - left], axis=-1)
    between = (weights[1:] + weights[:-1])[..., None] / 2
    steps = -(between * np.diff(stance.feet, axis=0)).sum(axis=1)
    path = np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])
    return np.concatenate([path, -stance.lowest[:, None]], axis=1)
