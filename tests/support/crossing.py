"""Fewer crossings of things that a law says do not matter."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

EVERY = os.environ.get("PROCTOR_TESTS") == "all"


def paired(*factors: Sequence[Any]) -> list[tuple[Any, ...]]:
    """So few crossings of these factors that every value of each still meets every value of every other, and of threes
    as many as then fit. With PROCTOR_TESTS=all every crossing."""
    places = list(product(*(range(len(values)) for values in factors)))
    if EVERY:
        return [_values(factors, place) for place in places]
    found: list[tuple[int, ...]] = []
    pairs, threes = (set().union(*(_meetings(place, n) for place in places)) for n in (2, 3))
    while pairs:
        best = max(places, key=lambda place: [len(_meetings(place, 2) & pairs), len(_meetings(place, 3) & threes)])
        found.append(best)
        pairs -= _meetings(best, 2)
        threes -= _meetings(best, 3)
    return [_values(factors, place) for place in sorted(found)]


def _values(factors: Sequence[Sequence[Any]], place: Sequence[int]) -> tuple[Any, ...]:
    return tuple(values[i] for values, i in zip(factors, place, strict=True))


def _meetings(place: Sequence[int], n: int) -> set[tuple[tuple[int, int], ...]]:
    """Which values of which n factors meet."""
    return set(combinations(enumerate(place), n))
