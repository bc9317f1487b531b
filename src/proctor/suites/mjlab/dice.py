"""What lets a world of a batch begin and go on as if it were alone, to the last bit: its random numbers, its memory,
and how it is computed.

mjlab draws from the global generators of torch, numpy and Python, for all worlds that need something at once. `Dice`
keeps a state of these generators for each world: what is drawn in `of(world)` depends on that world's seed and its own
earlier draws, and the global generators are afterwards as they were.

A reward, observation, termination, event or metric may be an object with a memory. Not all of them clear it when a
world is reset (in mjlab 1.6 `feet_swing_height` keeps the highest lift of each foot), so an episode would be paid for
what happened in the one before. `Leftovers` remembers what every such object held when it was made.

MuJoCo Warp 3.11 does two things that let a world depend on how many others there are, or on the first of them:

- The mean inertia, by which its solver decides that it is done, is one number for all worlds, and that of world 0 where
  masses are randomised. It may have one for each.
- Sums over constraints of larger robots are split into as many parts as keep a device busy, which depends on the number
  of worlds, and sums in another order round differently. On the CPU the parts are those of one world.
"""

from __future__ import annotations

import importlib
import inspect
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from proctor.errors import InputError


class Leftovers:
    """Of an environment that has just been made, with `env.num_envs` worlds."""

    def __init__(self, torch: Any, env: Any):
        self._first: list[tuple[Any, str, Any]] = []
        for term in terms(env):
            for name, value in vars(term).items():
                if isinstance(value, torch.Tensor) and value.ndim and len(value) == env.num_envs:
                    self._first.append((term, name, value.clone()))

    def clear(self, world: int) -> None:
        """Give one world's rows back what they held at first."""
        for term, name, first in self._first:
            getattr(term, name)[world] = first[world]


def terms(env: Any) -> Iterator[Any]:
    """The objects, no plain functions, that compute terms."""
    rewards, endings, events, seen = (
        env.reward_manager, env.termination_manager, env.event_manager, env.observation_manager,
    )  # fmt: skip
    found = [manager.get_term_cfg(name) for manager in (rewards, endings) for name in manager.active_terms]
    found += [events.get_term_cfg(name) for names in events.active_terms.values() for name in names]
    found += [seen.get_term_cfg(group, name) for group, names in seen.active_terms.items() for name in names]
    found += (env.metrics_manager.cfg or {}).values()
    for cfg in filter(None, found):
        if not inspect.isroutine(cfg.func) and hasattr(cfg.func, "__dict__"):
            yield cfg.func


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


class Dice:
    """`torch` is the module; `device` is where mjlab draws."""

    def __init__(self, torch: Any, device: str):
        self._torch = torch
        self._cuda = device if device.startswith("cuda") else None
        self._states: dict[int, tuple[Any, ...]] = {}

    @contextmanager
    def of(self, world: int, seed: int | None = None) -> Iterator[None]:
        """The world's own generators, from `seed` on where one is given."""
        outside = self.state()
        try:
            if seed is None:
                self._set(self._states[world])
            else:
                self._seed(seed)
            yield
            self._states[world] = self.state()
        finally:
            self._set(outside)

    @contextmanager
    def kept(self, seed: int = 0) -> Iterator[None]:
        """Generators that start from `seed` and belong to no world."""
        outside = self.state()
        try:
            self._seed(seed)
            yield
        finally:
            self._set(outside)

    def state(self) -> tuple[Any, ...]:
        """Of the global generators now."""
        cuda = None if self._cuda is None else self._torch.cuda.get_rng_state(self._cuda)
        return random.getstate(), np.random.get_state(), self._torch.get_rng_state(), cuda  # noqa: NPY002 - mjlab's

    def drawn_since(self, state: tuple[Any, ...]) -> bool:
        """Whether anything was drawn from the generators that mjlab uses."""
        now = self.state()
        pairs = zip(now[2:], state[2:], strict=True)
        return any(one is not None and not self._torch.equal(one, other) for one, other in pairs)

    def _set(self, state: tuple[Any, ...]) -> None:
        random.setstate(state[0])
        np.random.set_state(state[1])  # noqa: NPY002 - mjlab's
        self._torch.set_rng_state(state[2])
        if self._cuda is not None:
            self._torch.cuda.set_rng_state(state[3], self._cuda)

    def _seed(self, seed: int) -> None:
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002 - mjlab's
        self._torch.default_generator.manual_seed(seed)
        if self._cuda is not None:
            self._torch.cuda.manual_seed_all(seed)
