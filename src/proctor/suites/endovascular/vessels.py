"""The vessels of a task: their tree with its distance field, and the places where a target can be."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from proctor.errors import InputError
from proctor.suites.endovascular import grid
from proctor.suites.endovascular.anatomy import ArchType, VesselTree, aortic_arch
from proctor.suites.endovascular.rod import Field
from proctor.suites.endovascular.vessel_files import Source, read_tree

if TYPE_CHECKING:
    from proctor.suites.endovascular.options import AorticArchCfg


@dataclass(frozen=True, eq=False)
class Vessels:
    """A tree, and the distance to its walls."""

    tree: VesselTree
    field: Field


def vessels_of(anatomy: AorticArchCfg, seed: int) -> Vessels:
    """The vessels that an anatomy describes; `seed` is that of the patient, which a file has not. Raises InputError for
    a target branch that the tree has not."""
    if anatomy.type == "centerlines":
        found = _from_files(_source(anatomy))
    else:
        found = _arch(anatomy.arch_type, seed, anatomy.scale_diameter)
    unknown = [name for name in anatomy.target_branches if name not in found.tree.names]
    if unknown:
        known = ", ".join(found.tree.names)
        raise InputError(f"the vessels have no branch {', '.join(unknown)}; target_branches are some of {known}")
    return found


def _source(anatomy: AorticArchCfg) -> Source:
    entry = anatomy.entry_mm or anatomy.entry_at
    assert anatomy.centerlines_folder is not None
    assert entry is not None
    return Source(anatomy.centerlines_folder, entry, anatomy.axes, anatomy.rotate_yzx_deg, anatomy.radius_mm)


@functools.lru_cache(maxsize=8)
def _arch(arch_type: ArchType, seed: int, scale: float) -> Vessels:
    tree = aortic_arch(arch_type, seed)
    if scale != 1.0:
        tree = VesselTree(tuple(replace(branch, radii=scale * branch.radii) for branch in tree.branches))
    return Vessels(tree, grid.shared(tree))


@functools.lru_cache(maxsize=2)
def _from_files(source: Source) -> Vessels:
    tree = read_tree(source)
    return Vessels(tree, grid.shared(tree))


def places(tree: VesselTree, branches: tuple[str, ...]) -> list[tuple[str, int]]:
    """The centreline points of these branches that lie in no other one: (branch, number) each."""
    others = [branch for branch in tree.branches if branch.name not in branches]
    found = []
    for name in branches:
        points = tree.branch(name).points
        inside = np.zeros(len(points), bool)
        for other in others:
            apart = np.linalg.norm(points[:, None] - other.points[None], axis=-1)
            inside |= (apart < other.radii[None]).any(axis=1)
        found += [(name, int(index)) for index in np.flatnonzero(~inside)]
    if not found:
        raise InputError(f"every centreline point of {', '.join(branches)} lies in another vessel; name other branches")
    return found


def between(tree: VesselTree, following: np.ndarray, start: int, every_mm: float) -> list[np.ndarray]:
    """Points on the way from a centreline point to the target, `every_mm` apart counted from the target, the first one
    to be met first; without start and target."""
    points, way = tree.points(), [start]
    while following[way[-1]] != way[-1]:
        way.append(int(following[way[-1]]))
    path = points[way[::-1]]
    along = np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))]
    wanted = np.arange(every_mm, along[-1], every_mm)
    found = np.stack([np.interp(wanted, along, path[:, axis]) for axis in range(3)], axis=1)
    return list(found[::-1])
