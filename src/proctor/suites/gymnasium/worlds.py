"""One world's part of what a vector environment returns."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np


def world_observation(space: gymnasium.Space[Any], batch: Any, world: int) -> Any:
    """A copy of one world's observation; `space` is that of a single world."""
    if isinstance(space, gymnasium.spaces.Dict):
        return {key: world_observation(sub, batch[key], world) for key, sub in space.spaces.items()}
    if isinstance(space, gymnasium.spaces.Tuple):
        return tuple(world_observation(sub, part, world) for sub, part in zip(space.spaces, batch, strict=True))
    row = batch[world]
    return row.copy() if isinstance(row, np.ndarray) else row


def world_info(infos: dict[str, Any], world: int, num_worlds: int) -> dict[str, Any]:
    """One world's info. An entry `_key` masks the worlds that have `key`; without a mask an array with a row
    for each world is split, and anything else belongs to all."""
    found: dict[str, Any] = {}
    for key, value in infos.items():
        if key.startswith("_") and key[1:] in infos:
            continue
        mask = infos.get(f"_{key}")
        if mask is not None and not mask[world]:
            continue
        if isinstance(value, dict):
            found[key] = world_info(value, world, num_worlds)
        elif isinstance(value, np.ndarray | list | tuple) and len(value) == num_worlds:
            found[key] = value[world]
        else:
            found[key] = value
    return found
