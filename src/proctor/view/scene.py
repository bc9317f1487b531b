"""What a trial looks like in space, from its record alone.

Three kinds of records are shown:

- `model`: poses of all bodies at every step (`state.body_pos`, `state.body_quat`) with the shapes of the model
  (`scene.*`), as `record.states: true` keeps them; a reference where there is one.
- `bodies`: positions of named bodies (`body_pos`, `body_names`) and of a reference, as the tracking suite records.
- `wire`: a wire in a vessel (`tip_pos3d`, `vessel_pos3d`), as the endovascular suites record.

The answer has the form of `proctor.view.series`: the length of a JSON text, the text, and blocks of float32 numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.view.snapshot import Snapshot
from proctor.view.trial import episode_of

Arrays = Mapping[str, np.ndarray]
FORCES = ("wall_wire_force_norm", "wall_collision_force_norm", "wall_lcp_max_abs")
GEOMETRY = ("geom_body", "geom_type", "geom_size", "geom_pos", "geom_quat", "geom_rgba", "geom_mesh")
MESHES = ("mesh_vertex_start", "mesh_face_start", "mesh_vertices", "mesh_faces")
MOST_NUMBERS = 40_000_000
NOTHING = (
    "Nothing of this trial can be shown in space: no states were recorded. For MuJoCo-based tasks run with "
    "`record: {states: true}`, or set it for a run that exists: proctor run CONFIG --set record.states=true."
)


def packed(snapshot: Snapshot, key: str) -> bytes:
    """The scene of a trial. Raises InputError, with what to record, where there is none."""
    _, episode = episode_of(snapshot, key)
    arrays, n = episode.arrays, episode.n_steps
    found = _found(arrays, n)
    if found is None:
        raise InputError(NOTHING)
    kind, blocks, more = found
    if sum(block.size for block in blocks.values()) > MOST_NUMBERS:
        raise InputError(
            "The record of this trial is too large to be shown in space; export it: proctor export --rerun"
        )
    dt = episode.dt_s
    return _pack({"kind": kind, "n": n, "dt_s": dt if math.isfinite(dt) else None, **more}, blocks)


def _pack(head: dict[str, Any], blocks: Mapping[str, np.ndarray]) -> bytes:
    places, start = {}, 0
    for name, block in blocks.items():
        places[name] = {"start": start, "shape": list(block.shape)}
        start += block.size
    text = json.dumps({**head, "blocks": places}, allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    body = b"".join(np.ascontiguousarray(block, "<f4").tobytes() for block in blocks.values())
    return len(text).to_bytes(4, "little") + text + body


Found = tuple[str, dict[str, np.ndarray], dict[str, Any]]


def _found(arrays: Arrays, n: int) -> Found | None:
    return (_model(arrays, n) or _wire(arrays, n) or _bodies(arrays, n)) if n else None


def missing(arrays: Arrays, n: int) -> str | None:
    """Why a record cannot be shown in space; None where it can."""
    return NOTHING if _found(arrays, n) is None else None


def _model(arrays: Arrays, n: int) -> Found | None:
    pos, quat = _numbers(arrays, "state.body_pos", (n, None, 3)), _numbers(arrays, "state.body_quat", (n, None, 4))
    names = arrays.get("scene.body_names")
    if pos is None or quat is None or names is None or quat.shape[1] != pos.shape[1]:
        return None
    blocks = {"pos": pos, "quat": quat}
    for name in (*GEOMETRY, *MESHES):
        block = arrays.get(f"scene.{name}")
        if block is None or block.dtype.kind not in "iuf":
            return None
        blocks[name] = block
    if not _sound(blocks, pos.shape[1]):
        return None
    for name in ("body_pos", "body_quat"):
        own = _numbers(arrays, f"scene.reference_{name}", (None, pos.shape[1], None))
        if own is not None and len(own) >= n + 1:
            blocks[f"reference_{name.removeprefix('body_')}"] = own[1 : n + 1]
    return "model", blocks, {"unit": "m", "names": [str(name) for name in names.reshape(-1)]}


def _sound(blocks: Mapping[str, np.ndarray], bodies: int) -> bool:
    """Whether the shapes belong together: a record may be somebody else's, and no number in it leads elsewhere."""
    geoms, vertices, faces = len(blocks["geom_body"]), len(blocks["mesh_vertices"]), len(blocks["mesh_faces"])
    widths = {"geom_size": 3, "geom_pos": 3, "geom_quat": 4, "geom_rgba": 4}
    if any(blocks[name].shape != (geoms, width) for name, width in widths.items()):
        return False
    if blocks["mesh_vertices"].shape != (vertices, 3) or blocks["mesh_faces"].shape != (faces, 3):
        return False
    starts = [blocks["mesh_vertex_start"], blocks["mesh_face_start"]]
    meshes = len(starts[0]) - 1
    if meshes < 0 or len(starts[1]) != meshes + 1 or blocks["geom_mesh"].shape != (geoms,):
        return False
    ends = all(
        (np.diff(s) >= 0).all() and s[0] >= 0 and s[-1] <= most
        for s, most in zip(starts, (vertices, faces), strict=True)
    )
    inside = not faces or (blocks["mesh_faces"].min() >= 0 and blocks["mesh_faces"].max() < max(vertices, 1))
    owners = not geoms or (blocks["geom_body"].min() >= 0 and blocks["geom_body"].max() < bodies)
    return bool(ends and inside and owners and (not geoms or blocks["geom_mesh"].max() < max(meshes, 1)))


def _bodies(arrays: Arrays, n: int) -> Found | None:
    pos = _numbers(arrays, "body_pos", (n, None, 3))
    if pos is None:
        return None
    names = arrays.get("body_names", np.array([f"body {i}" for i in range(pos.shape[1])]))
    blocks = {"pos": pos}
    reference = _numbers(arrays, "reference.body_pos", (None, pos.shape[1], 3))
    if reference is not None and len(reference) >= n + 1:
        blocks["reference_pos"] = reference[1 : n + 1]
    links = _rigid_links(blocks.get("reference_pos", pos))
    return "bodies", blocks, {
        "unit": "m",
        "names": [str(name) for name in names.reshape(-1)],
        "links": links,
        "said": "Only positions of the tracked bodies were recorded, so lines connect those that keep their distance. "
        "For the robot itself run with `record: {states: true}`.",
    }  # fmt: skip


def _rigid_links(pos: np.ndarray) -> list[list[int]]:
    """Lines between points (T, B, 3) that connect all of them: between those whose distance changes least, the nearest
    ones first. A figure, where no links were recorded."""
    some = pos[:: max(1, len(pos) // 40)].astype(np.float64)
    count = some.shape[1]
    if not 1 < count <= 200 or not np.isfinite(some).all():
        return []
    apart = np.linalg.norm(some[:, :, None] - some[:, None], axis=3)
    cost = apart.std(axis=0) + 0.05 * apart.mean(axis=0)
    inside, links = [0], []
    while len(inside) < count:
        rest = [i for i in range(count) if i not in inside]
        part = cost[np.ix_(inside, rest)]
        a, b = np.unravel_index(int(part.argmin()), part.shape)
        links.append([inside[int(a)], rest[int(b)]])
        inside.append(rest[int(b)])
    return links


def _wire(arrays: Arrays, n: int) -> Found | None:
    tip = _numbers(arrays, "tip_pos3d", (n, 3))
    if tip is None:
        return None
    blocks = {"tip": tip}
    wire = _numbers(arrays, "wire_pos3d", (n, None, 3))
    vessel, radius = _numbers(arrays, "vessel_pos3d", (None, 3)), arrays.get("vessel_radius")
    branch, places = arrays.get("vessel_branch"), _numbers(arrays, "wall_force_pos3d", (n, 3))
    blocks |= {} if wire is None else {"wire": wire}
    if vessel is not None:
        blocks["vessel"] = vessel
        blocks["radius"] = _same(radius, len(vessel), 2.0)
        blocks["branch"] = _same(branch, len(vessel), 0.0)
    force = next(
        (f for name in FORCES if (f := _numbers(arrays, name, (n,))) is not None and np.isfinite(f).any()), None
    )
    if force is not None and places is not None:
        blocks |= {"force": force, "force_at": places}
    target = _numbers(arrays, "target_pos3d", (3,))
    blocks |= {} if target is None else {"target": target}
    within = arrays.get("target_threshold_mm")
    unit = arrays.get("force_unit")
    return "wire", blocks, {
        "unit": "mm",
        "within": float(within) if within is not None and within.ndim == 0 else None,
        "force_unit": str(unit)[:20] if unit is not None and unit.ndim == 0 else "",
    }  # fmt: skip


def _same(array: np.ndarray | None, n: int, otherwise: float) -> np.ndarray:
    return array if array is not None and array.shape == (n,) and array.dtype.kind in "iuf" else np.full(n, otherwise)


def _numbers(arrays: Arrays, name: str, shape: tuple[int | None, ...]) -> np.ndarray | None:
    """An array of this shape; None where it is not there, or is of another."""
    array = arrays.get(name)
    if array is None or array.dtype.kind not in "iuf" or array.ndim != len(shape):
        return None
    fits = all(want is None or have == want for have, want in zip(array.shape, shape, strict=True))
    return array if fits else None
