"""The random numbers of every world.

mjlab draws from the global generators of torch, numpy and Python, for all worlds that need something at once. `Dice`
keeps a state of these generators for each world: what is drawn in `of(world)` depends on that world's seed and its own
earlier draws, and the global generators are afterwards as they were.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


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
