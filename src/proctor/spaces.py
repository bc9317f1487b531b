"""Gymnasium spaces: the entries of one, and the one that a description stands for.

Gymnasium is imported where it is used, so that importing this module costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from proctor_host import spaces as described

EntryPath = tuple[str | int, ...]
OBSERVATION, INFO = "observation", "info"
"""Entries of the observation of a task that hands its `info` to policies, beside what the environment observes."""


def is_handed(space: Any) -> bool:
    """Whether an observation space has the environment's `info` beside its observation."""
    from gymnasium import spaces

    return (
        isinstance(space, spaces.Dict)
        and set(space.spaces) == {OBSERVATION, INFO}
        and isinstance(space.spaces[INFO], spaces.Dict)
    )


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


LONGEST = 120
ENTRIES_SHOWN = 4


def in_a_line(space: Any) -> str:
    """A space as Gymnasium writes it, where that is short; else how many entries it has, and some of them with
    dtype and shape, the outermost first."""
    text = " ".join(str(space).split())
    if len(text) <= LONGEST:
        return text
    found = sorted(entries_of(space), key=lambda entry: len(entry[0]))
    listed = [".".join(map(str, path)) + f" {part.dtype} {part.shape}" for path, part in found[:ENTRIES_SHOWN]]
    more = f", and {len(found) - ENTRIES_SHOWN:,} more" if len(found) > ENTRIES_SHOWN else ""
    count = "" if len(found) == 1 else f"of {len(found):,} entries: "
    return f"{count}{', '.join(listed).strip()}{more}"


def to_gymnasium(space: Any) -> Any:
    """The space of Gymnasium's that a description stands for; one that has no description is given as it is."""
    import gymnasium

    if isinstance(space, described.Box):
        return gymnasium.spaces.Box(space.low, space.high, space.shape, space.dtype.type)
    if isinstance(space, described.Discrete):
        return _typed(gymnasium.spaces.Discrete(space.n, start=space.start), space.dtype)
    if isinstance(space, described.MultiDiscrete):
        return gymnasium.spaces.MultiDiscrete(space.nvec, dtype=space.dtype.type, start=space.start)
    if isinstance(space, described.MultiBinary):
        return gymnasium.spaces.MultiBinary(space.shape[0] if len(space.shape) == 1 else list(space.shape))
    if isinstance(space, described.Dict):
        return gymnasium.spaces.Dict([(key, to_gymnasium(part)) for key, part in space.spaces.items()])
    if isinstance(space, described.Tuple):
        return gymnasium.spaces.Tuple([to_gymnasium(part) for part in space.spaces])
    if isinstance(space, described.Text):
        more: Any = {} if space.charset is None else {"charset": space.charset}
        return gymnasium.spaces.Text(space.max_length, min_length=space.min_length, **more)
    assert isinstance(space, described.Other)
    return space.space


def _typed(space: Any, dtype: np.dtype[Any]) -> Any:
    """A Discrete of this dtype, which not every version of Gymnasium can be asked for."""
    if space.dtype != dtype:
        space.dtype = dtype
        space.n, space.start = dtype.type(space.n), dtype.type(space.start)
    return space
