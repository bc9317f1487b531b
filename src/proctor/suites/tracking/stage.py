"""The stage on which robots are filmed: floor, sky, light, and puppets of a robot.

A puppet is a copy of what is visible of a compiled model, one free-standing (mocap) body for each of its
bodies: posed by body poses, it needs no physics. The stage is made from any MjModel, whatever floor and light that
has; planes give way to the stage's floor, other geoms of the world body are kept as scenery.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from proctor.suites.tracking.mujoco_versions import directional_light

if TYPE_CHECKING:
    import mujoco

RGBA = tuple[float, float, float, float]

SCENERY, AGENT, REFERENCE = 0, 1, 2
"""Geom groups of the stage."""

VISIBLE_GROUPS = 3
"""Geoms of the groups 0 to 2 are what a viewer shows of a model; collision shapes are kept in higher ones."""

_FLOOR = {"rgb1": (0.55, 0.58, 0.62), "rgb2": (0.47, 0.50, 0.54), "markrgb": (0.75, 0.77, 0.80)}
_SKY = {"rgb1": (0.84, 0.89, 0.95), "rgb2": (0.45, 0.58, 0.74)}
_PLAIN: RGBA = (0.5, 0.5, 0.5, 1.0)
_PLAIN_REPLACEMENT: RGBA = (0.62, 0.64, 0.68, 1.0)


@dataclass(frozen=True)
class PuppetStage:
    """`model` has two puppets of `bodies` bodies each (the world body left out): mocap rows [0, bodies) are the
    agent's, [bodies, 2 bodies) the reference's."""

    model: mujoco.MjModel
    bodies: int


def build_stage(model: mujoco.MjModel, reference_rgba: RGBA, size: tuple[int, int]) -> PuppetStage:
    """The stage for a robot's model; `size` is (height, width) of the largest frame in pixels."""
    import mujoco

    spec = mujoco.MjSpec()
    _furnish(spec, size)
    meshes = _Meshes(spec, model)
    shown = _visible_geoms(model)
    for group, rgba in ((AGENT, None), (REFERENCE, reference_rgba)):
        for body in range(1, model.nbody):
            puppet = spec.worldbody.add_body(name=f"{group}/{body}", mocap=True)
            for geom in shown[model.geom_bodyid[shown] == body]:
                _copy_geom(puppet, model, int(geom), _Paint(group, rgba), meshes)
    for geom in shown[model.geom_bodyid[shown] == 0]:
        _copy_geom(spec.worldbody, model, int(geom), _Paint(SCENERY, None), meshes)
    return PuppetStage(spec.compile(), model.nbody - 1)


def _furnish(spec: Any, size: tuple[int, int]) -> None:
    """Floor, sky, two lights and a frame buffer."""
    import mujoco

    texture, builtin = mujoco.mjtTexture, mujoco.mjtBuiltin
    gradient = {"builtin": builtin.mjBUILTIN_GRADIENT, "width": 256, "height": 1536, **_SKY}
    spec.add_texture(name="sky", type=texture.mjTEXTURE_SKYBOX, **gradient)
    checker = {"builtin": builtin.mjBUILTIN_CHECKER, "mark": mujoco.mjtMark.mjMARK_EDGE, "width": 256, "height": 256}
    spec.add_texture(name="floor", type=texture.mjTEXTURE_2D, **checker, **_FLOOR)
    floor = spec.add_material(name="floor", texrepeat=(1, 1), texuniform=True)
    floor.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "floor"
    plane = mujoco.mjtGeom.mjGEOM_PLANE
    spec.worldbody.add_geom(type=plane, size=(0, 0, 0.05), material="floor", group=SCENERY)
    sun = {**directional_light(), "diffuse": (0.55, 0.55, 0.55), "specular": (0.15,) * 3}
    spec.worldbody.add_light(name="sun", pos=(0, 0, 4), dir=(0, 0, -1), castshadow=True, **sun)
    look = spec.visual
    look.global_.offheight, look.global_.offwidth = size
    look.headlight.ambient, look.headlight.diffuse, look.headlight.specular = (0.38,) * 3, (0.35,) * 3, (0.1,) * 3
    look.quality.shadowsize = 2048
    look.map.znear, look.map.zfar, look.map.shadowclip = 0.05, 30.0, 3.0
    look.rgba.haze = (*_SKY["rgb1"], 1.0)
    spec.stat.extent, spec.stat.center = 1.0, (0, 0, 0.8)


@dataclass(frozen=True)
class _Paint:
    group: int
    rgba: RGBA | None
    """None: the model's own colours."""


class _Meshes:
    """Meshes of a compiled model, copied to a spec when they are first asked for."""

    def __init__(self, spec: Any, model: mujoco.MjModel):
        self._spec, self._model, self._copied = spec, model, set[int]()

    def name(self, mesh: int) -> str:
        """The name of the copy of mesh number `mesh`."""
        import mujoco

        name = f"mesh{mesh}"
        if mesh not in self._copied:
            model = self._model
            first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
            face, faces = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
            self._spec.add_mesh(
                name=name,
                uservert=model.mesh_vert[first : first + count].ravel(),
                userface=model.mesh_face[face : face + faces].ravel(),
                inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
            )
            self._copied.add(mesh)
        return name


def _visible_geoms(model: mujoco.MjModel) -> np.ndarray:
    """Geoms that a viewer shows, planes and height fields left out; all geoms of the robot where it has no visible
    one."""
    import mujoco

    flat = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)
    solid = ~np.isin(model.geom_type, flat)
    visible = solid & (model.geom_group < VISIBLE_GROUPS)
    return np.flatnonzero(visible if np.any(visible & (model.geom_bodyid > 0)) else solid)


def _copy_geom(body: Any, model: mujoco.MjModel, geom: int, paint: _Paint, meshes: _Meshes) -> None:
    import mujoco

    kind = mujoco.mjtGeom(int(model.geom_type[geom]))
    shape: dict[str, Any] = {"size": model.geom_size[geom]}
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        shape = {"meshname": meshes.name(int(model.geom_dataid[geom]))}
    body.add_geom(
        type=kind,
        pos=model.geom_pos[geom],
        quat=model.geom_quat[geom],
        rgba=paint.rgba or _own_colour(model, geom),
        group=paint.group,
        contype=0,
        conaffinity=0,
        **shape,
    )


def _own_colour(model: mujoco.MjModel, geom: int) -> RGBA:
    """A material's colour, else the geom's; MuJoCo's default grey is made a little lighter than the floor."""
    material = int(model.geom_matid[geom])
    r, g, b, a = map(float, model.mat_rgba[material] if material >= 0 else model.geom_rgba[geom])
    return _PLAIN_REPLACEMENT if (r, g, b, a) == _PLAIN else (r, g, b, a)
