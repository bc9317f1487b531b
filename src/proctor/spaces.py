"""Gymnasium spaces: the entries of one, its neutral action, and a random one from a generator of one's own.

Gymnasium is imported where it is used, so that importing this module costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

EntryPath = tuple[str | int, ...]


def entries_of(space: Any, path: EntryPath = ()) -> Iterator[tuple[EntryPath, Any]]:
    """(path, space) of every entry of an observation space that is no dict or tuple, in the space's order."""
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        parts: Any = space.spaces.items()
    elif isinstance(space, spaces.Tuple):
        parts = enumerate(space.spaces)
    else:
        yield path, space
        return
    for name, part in parts:
        yield from entries_of(part, (*path, name))


def neutral_action(space: Any) -> Any:
    """Zeros where the space allows them, else the nearest valid value."""
    from gymnasium import spaces

    if isinstance(space, spaces.Box):
        return np.clip(np.zeros(space.shape, space.dtype), space.low, space.high)
    if isinstance(space, spaces.Discrete):
        return np.asarray(max(space.start, min(0, space.start + space.n - 1)), space.dtype)[()]
    if isinstance(space, spaces.MultiDiscrete):
        return np.clip(np.zeros_like(space.start), space.start, space.start + space.nvec - 1)
    if isinstance(space, spaces.MultiBinary):
        return np.zeros(space.shape, space.dtype)
    raise NotImplementedError(f"no neutral action is known for {space}; override dummy_action")


Sampler = Callable[[np.random.Generator], Any]


def action_sampler(space: Any) -> Sampler:
    """A function that draws one action, uniform in the space. A Box that is unbounded on both sides gives a standard
    normal there, on one side a unit exponential from its bound. The space's own generator is not touched."""
    from gymnasium import spaces

    if isinstance(space, spaces.Box):
        return _box_sampler(space)
    if isinstance(space, spaces.Discrete):
        return lambda rng: np.asarray(space.start + rng.integers(space.n), space.dtype)[()]
    if isinstance(space, spaces.MultiDiscrete):
        return lambda rng: (space.start + rng.integers(space.nvec)).astype(space.dtype)
    if isinstance(space, spaces.MultiBinary):
        return lambda rng: rng.integers(2, size=space.shape).astype(space.dtype)
    raise NotImplementedError(
        f"no random action is known for {space}; use a Box, Discrete, MultiDiscrete or MultiBinary"
    )


def random_action(space: Any, rng: np.random.Generator) -> Any:
    """One action, as `action_sampler` draws it."""
    return action_sampler(space)(rng)


def _box_sampler(space: Any) -> Sampler:
    if np.issubdtype(space.dtype, np.integer):
        return lambda rng: rng.integers(space.low, space.high, endpoint=True, dtype=space.dtype)
    below, above = space.bounded_below, space.bounded_above
    low = np.where(below, space.low, 0.0).astype(np.float64)
    high = np.where(above, space.high, 0.0).astype(np.float64)

    def bounded(rng: np.random.Generator) -> np.ndarray:
        share = rng.random(space.shape)
        drawn = (low * (1.0 - share) + high * share).astype(space.dtype)
        return np.minimum(np.maximum(drawn, space.low), space.high)

    def partly(rng: np.random.Generator) -> np.ndarray:
        tail = rng.standard_exponential(space.shape)
        drawn = np.select(
            [below & above, below, above], [bounded(rng), low + tail, high - tail], rng.standard_normal(space.shape)
        )
        return np.clip(drawn.astype(space.dtype), space.low, space.high)

    return bounded if (below & above).all() else partly
