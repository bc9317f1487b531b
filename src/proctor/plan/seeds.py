"""The seeds of a plan, in words."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.config.models import EvalConfig

SHOWN = 8
"""Seeds of a list that are written out in a line."""


def seed_words(lists: Sequence[Sequence[int]]) -> str:
    """Which seeds trials had, of the lists of their tasks: `seeds from 123` where they follow one another, else the
    first ones of the first list."""
    firsts = list(dict.fromkeys(own[0] for own in lists if isinstance(own, range)))
    listed = list(dict.fromkeys(tuple(own) for own in lists if not isinstance(own, range)))
    if not listed:
        return f"seeds from {firsts[0]}"
    words = ", ".join(map(str, listed[0][:SHOWN]))
    more = f" and {len(listed[0]) - SHOWN:,} more" if len(listed[0]) > SHOWN else ""
    return f"seeds {words}{more}" + ("; other tasks have other seeds" if len(listed) + len(firsts) > 1 else "")


def seeds_of_run(cfg: EvalConfig) -> str:
    """As `seed_words`, of all tasks of a config."""
    return seed_words([cfg.seeds_of(task) for task in cfg.tasks])
