"""Motions without files: `squat`, `wave`, `sway`, `bow`, `step_in_place`, `reach`, `turn`, `kick`.

They begin and end in the default pose, last 4 to 8 seconds, keep the joints within their limits, a sole on the floor
and the centre of mass above the feet that carry it. A seed changes amplitudes, speeds and sides.
"""

from __future__ import annotations

import re
import zlib

import numpy as np

from proctor.errors import InputError
from proctor.registry import did_you_mean
from proctor.suites.tracking.motions.balance import balanced
from proctor.suites.tracking.motions.motion import Motion
from proctor.suites.tracking.motions.recipes import RECIPES
from proctor.suites.tracking.robot import Robot

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
