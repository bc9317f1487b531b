"""Worlds of a batch that are computed as one alone is, to the last bit.

MuJoCo Warp 3.11 does two things that let a world depend on how many others there are, or on the first of them:

- The mean inertia, by which its solver decides that it is done, is one number for all worlds, and that of world 0 where
  masses are randomised. It may have one for each.
- Sums over constraints of larger robots are split into as many parts as keep a device busy, which depends on the number
  of worlds, and sums in another order round differently. On the CPU the parts are those of one world.
"""

from __future__ import annotations

import importlib
from typing import Any

from proctor.errors import InputError


def make_alike(env: Any) -> None:
    """Of an environment with several worlds. Raises InputError where MuJoCo Warp is another one."""
    solver = importlib.import_module("mujoco_warp._src.solver")
    if not hasattr(solver, "_jtdaj_groups_per_world") or not hasattr(env.sim.wp_model.stat, "meaninertia"):
        version = getattr(importlib.import_module("mujoco_warp"), "__version__", "this one")
        raise InputError(f"batch: made for MuJoCo Warp 3.11, and found {version}; use batch: false")
    if str(env.device) == "cpu":
        split_as_for_one_world(solver)
    warp, stat = importlib.import_module("warp"), env.sim.wp_model.stat
    if len(stat.meaninertia) == 1:
        known = stat.meaninertia
        stat.meaninertia = warp.array(known.numpy().repeat(env.num_envs), dtype=float, device=known.device)
        env.sim.create_graph()


def split_as_for_one_world(solver: Any) -> None:
    """For this process; where there is one world, nothing changes."""
    split = solver._jtdaj_groups_per_world
    if getattr(split, "worlds", None) == 1:
        return

    def alone(nworld: int, njmax: int) -> int:
        return split(1, njmax)

    alone.worlds = 1  # pyright: ignore[reportFunctionMemberAccess]
    solver._jtdaj_groups_per_world = alone
