"""The built-in G1: the link table as a MuJoCo model without meshes.

Only the floor touches the robot: its shapes are rounder than the links they stand for, and would touch each other where
the links do not.
"""

from __future__ import annotations

from typing import Any

from proctor.suites.tracking.robot.g1_links import Link, Shape, all_links

_LIGHT, _DARK = (0.75, 0.76, 0.78, 1.0), (0.22, 0.23, 0.25, 1.0)
_FRICTION_LOSS = 0.3
_SOLE_FRICTION = 0.6


def g1_spec() -> Any:
    """A `mujoco.MjSpec` of the robot alone: no floor, no actuators."""
    import mujoco

    spec = mujoco.MjSpec()
    spec.modelname = "unitree_g1"
    spec.compiler.degree = False
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    for link in all_links():
        parent = spec.body(link.parent) if link.parent else spec.worldbody
        _add_link(parent, link)
    return spec


def _add_link(parent: Any, link: Link) -> None:
    import mujoco

    body = parent.add_body(name=link.name, pos=link.pos, quat=link.quat)
    body.explicitinertial = True
    body.mass, body.ipos, body.iquat = link.mass.kg, link.mass.centre, link.mass.turn
    body.inertia = link.mass.inertia
    if link.joint is None:
        body.add_freejoint(name="floating_base_joint")
    else:
        body.add_joint(
            name=link.joint.name,
            type=mujoco.mjtJoint.mjJNT_HINGE,
            axis=link.joint.axis,
            limited=mujoco.mjtLimited.mjLIMITED_TRUE,
            range=[link.joint.lower, link.joint.upper],
            frictionloss=_FRICTION_LOSS,
        )
    for shape in link.shapes:
        _add_shape(body, shape)


def _add_shape(body: Any, shape: Shape) -> None:
    import mujoco

    geom = body.add_geom(rgba=_DARK if shape.dark else _LIGHT, contype=int(shape.touches), conaffinity=0)
    if shape.kind == "box":
        geom.type, geom.pos, geom.size = mujoco.mjtGeom.mjGEOM_BOX, shape.first, shape.second
    elif shape.kind == "sphere":
        geom.type, geom.pos, geom.size = mujoco.mjtGeom.mjGEOM_SPHERE, shape.first, [shape.radius, 0, 0]
    else:
        geom.type, geom.size = mujoco.mjtGeom.mjGEOM_CAPSULE, [shape.radius, 0, 0]
        geom.fromto = [*shape.first, *shape.second]
    geom.group = 2
    if shape.sole:
        geom.group, geom.priority, geom.condim = 3, 1, 3
        geom.friction[0] = _SOLE_FRICTION
