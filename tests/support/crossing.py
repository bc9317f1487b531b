"""Fewer crossings of things that a law says do not matter."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import product
from typing import Any

EVERY = os.environ.get("PROCTOR_TESTS") == "all"


def crossed(*factors: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Every second crossing of these factors, so that all values of all of them but one, whichever that is, meet. With
    PROCTOR_TESTS=all every crossing."""
    places = product(*(range(len(values)) for values in factors))
    return [
        tuple(values[i] for values, i in zip(factors, place, strict=True))
        for place in places
        if EVERY or sum(place) % 2 == 0
    ]
