"""Where everything is in space, for MuJoCo-based tasks: what a viewer needs to show a trial from its record alone.

Signals, after each step: `state.body_pos` (bodies, 3) in metres and `state.body_quat` (bodies, 4) wxyz, in the world
frame, float32. Constants: `scene.body_names`; `scene.geom_*`, the visible shapes (MuJoCo's numbers for types, sizes and
poses in their bodies, colours); `scene.mesh_*`, the meshes of these shapes, one after the other, each with vertices
counted from 0, and with fewer faces where a mesh has many. Planes and height fields are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

POSITIONS, TURNS = "state.body_pos", "state.body_quat"
PLANE, HEIGHTS, MESH = 0, 1, 7
SHOWN_GROUPS = 3
"""Groups of shapes that MuJoCo's own viewer shows: the first ones."""
MOST_FACES = 700
"""Faces of a mesh that is kept as it is."""
_CELLS = (48, 32, 24, 16, 12, 8, 5)


class States:
    """Reads the poses of one simulation without touching it: kinematics are computed aside."""

    def __init__(self, model: Any, data: Any):
        import mujoco

        self._model, self._data = model, data
        self._aside, self._kinematics = mujoco.MjData(model), mujoco.mj_kinematics
        self._shapes: dict[str, np.ndarray] | None = None

    def signals(self) -> dict[str, np.ndarray]:
        """Where the bodies are now, the world among them; nothing in it changes later."""
        aside, data = self._aside, self._data
        aside.qpos[:] = data.qpos
        aside.mocap_pos[:] = data.mocap_pos
        aside.mocap_quat[:] = data.mocap_quat
        self._kinematics(self._model, aside)
        return {POSITIONS: aside.xpos.astype(np.float32), TURNS: aside.xquat.astype(np.float32)}

    def constants(self) -> dict[str, np.ndarray]:
        if self._shapes is None:
            self._shapes = shapes_of(self._model)
        return self._shapes


def states_of(world: Any) -> States | None:
    """Of an environment that has a MuJoCo model and its data; None of any other."""
    import mujoco

    model, data = getattr(world, "model", None), getattr(world, "data", None)
    return States(model, data) if isinstance(model, mujoco.MjModel) and isinstance(data, mujoco.MjData) else None


def shapes_of(model: Any, first: int = 0) -> dict[str, np.ndarray]:
    """The constants of a model; bodies are counted from `first`."""
    kinds, owners = model.geom_type, model.geom_bodyid
    colours = _colours(model)
    shown = (model.geom_group < SHOWN_GROUPS) & (kinds != PLANE) & (kinds != HEIGHTS) & (owners >= first)
    chosen = np.flatnonzero(shown & (colours[:, 3] > 0))
    meshes = [int(mesh) for mesh in np.unique(model.geom_dataid[chosen][kinds[chosen] == MESH])]
    parts = [thinned(*_mesh(model, mesh)) for mesh in meshes]
    number = {mesh: place for place, mesh in enumerate(meshes)}
    which = [number.get(int(model.geom_dataid[geom]), -1) if kinds[geom] == MESH else -1 for geom in chosen]
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in parts)])
    nothing = (np.empty((0, 3), np.float32), np.empty((0, 3), np.int32))
    found = {
        "body_names": np.array([model.body(i).name or f"body {i}" for i in range(first, model.nbody)]),
        "geom_body": (owners[chosen] - first).astype(np.int32),
        "geom_type": kinds[chosen].astype(np.int32),
        "geom_size": model.geom_size[chosen].astype(np.float32),
        "geom_pos": model.geom_pos[chosen].astype(np.float32),
        "geom_quat": model.geom_quat[chosen].astype(np.float32),
        "geom_rgba": colours[chosen].astype(np.float32),
        "geom_mesh": np.array(which, np.int32),
        "mesh_vertex_start": starts.astype(np.int32),
        "mesh_face_start": np.cumsum([0, *(len(faces) for _, faces in parts)]).astype(np.int32),
        "mesh_vertices": np.concatenate([nothing[0], *(vertices for vertices, _ in parts)]),
        "mesh_faces": np.concatenate([nothing[1], *(faces for _, faces in parts)]),
    }
    return {f"scene.{name}": array for name, array in found.items()}


def _colours(model: Any) -> np.ndarray:
    """Of every shape: its material's, where it has one."""
    found = np.array(model.geom_rgba, np.float32)
    made_of = model.geom_matid >= 0
    found[made_of] = model.mat_rgba[model.geom_matid[made_of]]
    return found


def _mesh(model: Any, mesh: int) -> tuple[np.ndarray, np.ndarray]:
    at, faces = int(model.mesh_vertadr[mesh]), int(model.mesh_faceadr[mesh])
    vertices = model.mesh_vert[at : at + int(model.mesh_vertnum[mesh])]
    return vertices.astype(np.float32), model.mesh_face[faces : faces + int(model.mesh_facenum[mesh])].astype(np.int32)


def thinned(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A mesh with about `MOST_FACES` faces at most: vertices in one cell of a grid become one, and what collapses is
    left out. One that has no more is returned as it is."""
    if len(faces) <= MOST_FACES:
        return vertices, faces
    low = vertices.min(axis=0)
    size = float((vertices.max(axis=0) - low).max()) or 1.0
    kept = vertices, faces
    for cells in _CELLS:
        places = np.floor((vertices - low) * (cells / size)).astype(np.int64)
        _, which = np.unique(places, axis=0, return_inverse=True)
        which = which.reshape(-1)
        sums = np.zeros((which.max() + 1, 3))
        np.add.at(sums, which, vertices)
        moved = which[faces]
        apart = (moved[:, 0] != moved[:, 1]) & (moved[:, 1] != moved[:, 2]) & (moved[:, 2] != moved[:, 0])
        _, once = np.unique(np.sort(moved[apart], axis=1), axis=0, return_index=True)
        means = sums / np.bincount(which)[:, None]
        kept = means.astype(np.float32), moved[apart][np.sort(once)].astype(np.int32)
        if len(kept[1]) <= MOST_FACES:
            break
    return kept
