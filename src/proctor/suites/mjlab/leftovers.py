"""What terms of mjlab's managers keep over a reset.

A reward, observation, termination, event or metric may be an object with a memory. Not all of them clear it when a
world is reset (in mjlab 1.6 `feet_swing_height` keeps the highest lift of each foot), so an episode would be paid for
what happened in the one before. `Leftovers` remembers what every such object held when it was made.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any


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
