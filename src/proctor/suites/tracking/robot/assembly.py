"""From any model with a floating base to a `Robot`: the description is completed from the model, then the model's
actuators are replaced, so that all robots share one control law."""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.suites.tracking.mujoco_versions import delete, directional_light
from proctor.suites.tracking.robot.config import DescriptionCfg, PerJoint, per_joint
from proctor.suites.tracking.robot.description import PHYSICS_DT_S, Robot, RobotDescription
from proctor.suites.tracking.robot.g1 import G1_JOINTS

_STIFFNESS, _DAMPING, _SCALE = 100.0, 5.0, 0.25


def assemble(spec: Any, cfg: DescriptionCfg, source: str) -> Robot:
    """The robot of a `mujoco.MjSpec`, which is changed. `source` names it in errors. Raises InputError for a model
    without exactly one free joint, on a body of the world, and for joints other than hinges."""
    for body in cfg.attached_bodies:
        _attach(spec, body.name, body.parent, body.pos, source)
    model = _compile(spec, source)
    _check_joints(model, source)
    _check_motors(spec, model, cfg, source)
    description = _complete(model, cfg, source)
    _equip(spec, description)
    return Robot(description, spec)


def _attach(spec: Any, name: str, parent: str, pos: tuple[float, ...], source: str) -> None:
    carrier = spec.body(parent)
    if carrier is None:
        names = ", ".join(body.name for body in spec.bodies[1:])
        raise InputError(f'{source}: cannot attach "{name}" to "{parent}": there is no such body (known: {names})')
    if spec.body(name) is None:
        carrier.add_body(name=name, pos=pos)


def _compile(spec: Any, source: str) -> Any:
    try:
        return spec.compile()
    except ValueError as error:
        raise InputError(f"{source} cannot be compiled by MuJoCo: {error}") from None


def _check_joints(model: Any, source: str) -> None:
    import mujoco

    free = [j for j in range(model.njnt) if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE]
    if free != [0] or model.body_parentid[model.jnt_bodyid[0]] != 0:
        names = ", ".join(model.joint(j).name or f"joint {j}" for j in free) or "none"
        raise InputError(
            f"{source}: found free joints: {names}; expected exactly one, on the root of the robot, before its other "
            "joints (a floating base)"
        )
    others = [model.joint(j).name for j in range(1, model.njnt) if model.jnt_type[j] != mujoco.mjtJoint.mjJNT_HINGE]
    if others:
        raise InputError(f"{source}: found joints that are no hinges: {', '.join(others)}; only hinges are supported")
    if model.njnt == 1:
        raise InputError(f"{source}: found no hinge joints; expected at least one to control")
    if not all(model.joint(j).name for j in range(1, model.njnt)) or not model.body(model.jnt_bodyid[0]).name:
        raise InputError(f"{source}: found a joint or a root body without a name; every joint and the root need one")
    driven = set(model.actuator_trnid[model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT, 0].tolist())
    passive = [model.joint(j).name for j in range(1, model.njnt) if j not in driven]
    if driven and passive:
        raise InputError(
            f"{source}: found joints without an actuator: {', '.join(passive)}; give each an actuator, or remove the "
            "joint (a model without any actuators gets one for each joint)"
        )


def _check_motors(spec: Any, model: Any, cfg: DescriptionCfg, source: str) -> None:
    """Raise InputError for a bare robot: one without motors whose gains nobody has said. Any gains would make it move,
    and most would throw it about until nothing is a number any more."""
    import mujoco

    lacking = [key for key in ("stiffness", "damping") if getattr(cfg, key) is None]
    if model.nu or not lacking:
        return
    floor = any(geom.type == mujoco.mjtGeom.mjGEOM_PLANE for geom in spec.worldbody.geoms)
    absent = ["no actuators", *([] if model.nkey else ["no keyframe"]), *([] if floor else ["no floor"])]
    listed = " and ".join([", ".join(absent[:-1]), absent[-1]] if len(absent) > 1 else absent)
    joints = {model.joint(j).name for j in range(1, model.njnt)}
    known = "description_file: builtin:g1 (its joints are those of the Unitree G1), " if joints == G1_JOINTS else ""
    raise InputError(
        f"{source}: the model has {listed}, and nothing says its joints' {' and '.join(lacking)}. A floor is added, "
        f"and without a keyframe joints begin at zero, but motors are not guessed: give {known}description_file: "
        "FILE.yml with stiffness, damping, effort_limit, armature and default_pose, or a file of the robot that has "
        "actuators"
    )


def _complete(model: Any, cfg: DescriptionCfg, source: str) -> RobotDescription:
    joints = tuple(model.joint(j).name for j in range(1, model.njnt))
    bodies = [name for b in range(1, model.nbody) if (name := model.body(b).name)]
    root = model.body(model.jnt_bodyid[0]).name
    if cfg.root_body not in (None, root):
        raise InputError(f'{source}: root_body is "{cfg.root_body}", but the free joint is on "{root}"')
    pose = _keyframe(model, cfg.keyframe, source)

    def joint_values(key: str, value: PerJoint | None, fallback: np.ndarray) -> np.ndarray:
        found = per_joint(value, joints, fallback, f"{source}: {key}")
        if key != "default_pose" and (found < 0).any():
            raise InputError(f"{source}: {key}: found {found.min():g}; expected numbers that are not negative")
        found.setflags(write=False)
        return found

    actuators = _Actuators(model)
    stiffness = joint_values("stiffness", cfg.stiffness, actuators.stiffness)
    effort = joint_values("effort_limit", cfg.effort_limit, actuators.effort)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(np.isfinite(effort) & (stiffness > 0), _SCALE * effort / stiffness, _SCALE)
    anchor = cfg.anchor_body or ("torso_link" if "torso_link" in bodies else root)
    return RobotDescription(
        name=cfg.name or model.names[: model.names.index(b"\0")].decode() or "robot",
        joint_names=joints,
        default_pose=joint_values("default_pose", cfg.default_pose, pose[7:]),
        default_height=float(pose[2]) if cfg.default_height is None else cfg.default_height,
        stiffness=stiffness,
        damping=joint_values("damping", cfg.damping, actuators.damping),
        effort_limit=effort,
        armature=joint_values("armature", cfg.armature, model.dof_armature[6:]),
        action_scale=joint_values("action_scale", cfg.action_scale, scale),
        root_body=root,
        anchor_body=_known([anchor], bodies, f"{source}: anchor_body")[0],
        tracked_bodies=_known(cfg.tracked_bodies or bodies, bodies, f"{source}: tracked_bodies"),
        observed_bodies=_known(cfg.observed_bodies or bodies, bodies, f"{source}: observed_bodies"),
    )


def _keyframe(model: Any, name: str | None, source: str) -> np.ndarray:
    names = [model.key(k).name for k in range(model.nkey)]
    if name is not None and name not in names:
        raise InputError(f'{source}: no keyframe "{name}" (known: {", ".join(names) or "none"})')
    if not names:
        return model.qpos0
    return model.key_qpos[names.index(name) if name is not None else 0]


def _known(names: list[str], bodies: list[str], what: str) -> tuple[str, ...]:
    unknown = [name for name in names if name not in bodies]
    if unknown:
        raise InputError(f"{what}: no such body: {', '.join(unknown)} (known: {', '.join(bodies)})")
    if len(set(names)) < len(names):
        raise InputError(
            f"{what}: a body is named twice: {', '.join(sorted({n for n in names if names.count(n) > 1}))}"
        )
    return tuple(names)


class _Actuators:
    """What the model's own actuators say of each joint, (J,) each."""

    def __init__(self, model: Any):
        import mujoco

        n = model.njnt - 1
        self.stiffness, self.damping = np.full(n, _STIFFNESS), np.full(n, _DAMPING)
        limited = model.jnt_actfrclimited[1:].astype(bool)
        self.effort = np.where(limited, np.abs(model.jnt_actfrcrange[1:]).max(axis=1), np.inf)
        for a in range(model.nu):
            if model.actuator_trntype[a] != mujoco.mjtTrn.mjTRN_JOINT:
                continue
            joint = model.actuator_trnid[a, 0] - 1
            if model.actuator_forcelimited[a]:
                self.effort[joint] = min(self.effort[joint], np.abs(model.actuator_forcerange[a]).max())
            kp = model.actuator_gainprm[a, 0]
            if model.actuator_biastype[a] == mujoco.mjtBias.mjBIAS_AFFINE and model.actuator_biasprm[a, 1] == -kp:
                self.stiffness[joint] = kp
                self.damping[joint] = max(-model.actuator_biasprm[a, 2], 0.0)


def _equip(spec: Any, description: RobotDescription) -> None:
    """Replace the actuators, set the timestep and see that there is a floor."""
    import mujoco

    for group in (spec.keys, spec.sensors, spec.actuators):
        for element in list(group):
            delete(spec, element)
    spec.option.timestep = PHYSICS_DT_S
    for i, name in enumerate(description.joint_names):
        joint = spec.joint(name)
        joint.armature = description.armature[i]
        joint.actfrclimited = mujoco.mjtLimited.mjLIMITED_FALSE
        effort = description.effort_limit[i]
        actuator = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        actuator.gaintype, actuator.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
        actuator.gainprm[0] = description.stiffness[i]
        actuator.biasprm[1:3] = -description.stiffness[i], -description.damping[i]
        actuator.ctrllimited = mujoco.mjtLimited.mjLIMITED_FALSE
        actuator.forcelimited = int(np.isfinite(effort))
        if np.isfinite(effort):
            actuator.forcerange = [-effort, effort]
    if not any(geom.type == mujoco.mjtGeom.mjGEOM_PLANE for geom in spec.worldbody.geoms):
        _add_floor(spec)


def _add_floor(spec: Any) -> None:
    import mujoco

    checks = spec.add_texture(
        name="floor_checks",
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=[0.33, 0.37, 0.41],
        rgb2=[0.27, 0.31, 0.35],
        width=64,
        height=64,
    )
    material = spec.add_material(name="floor", texrepeat=[1, 1], texuniform=True)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = checks.name
    spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.05], material=material.name)
    if not spec.lights:
        spec.worldbody.add_light(pos=[0, 0, 4], dir=[0, 0.3, -1], **directional_light())
