"""All pairs of agents at once: Holm's correction, and letters for those that do not differ significantly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values in the order given: reject those at most alpha, and the chance of any false rejection among
    all is at most alpha."""
    p = np.asarray(p_values, dtype=np.float64)
    if np.isnan(p).any() or (p < 0).any() or (p > 1).any():
        raise ValueError("p-values lie between 0 and 1; leave out comparisons that have none")
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted.tolist()


def letters(names: Sequence[str], different: Iterable[tuple[str, str]]) -> dict[str, str]:
    """A compact letter display: two agents share a letter exactly where they are not in `different`. `names` are in
    rank order, and the letter a goes to the best. After z come aa, ab, ..., set apart by commas."""
    unknown = {name for pair in different for name in pair} - set(names) if (different := list(different)) else set()
    if unknown:
        raise ValueError(f"not among the names: {', '.join(sorted(unknown))}")
    place = {name: i for i, name in enumerate(names)}
    columns: list[frozenset[int]] = [frozenset(range(len(names)))] if names else []
    for one, other in different:
        columns = _split(columns, place[one], place[other])
    columns.sort(key=lambda column: sorted(column))
    separator = "" if len(columns) <= len(ALPHABET) else ","
    return {
        name: separator.join(_letter(k) for k, column in enumerate(columns) if place[name] in column) for name in names
    }


def _split(columns: list[frozenset[int]], one: int, other: int) -> list[frozenset[int]]:
    """Every column with both becomes two with either; a column inside another is dropped."""
    if one == other:
        raise ValueError("an agent is not different from itself")
    parts: list[frozenset[int]] = []
    for column in columns:
        parts += [column - {one}, column - {other}] if {one, other} <= column else [column]
    unique = list(dict.fromkeys(parts))
    return [column for column in unique if not any(column < larger for larger in unique)]


def _letter(k: int) -> str:
    high, low = divmod(k, len(ALPHABET))
    return (_letter(high - 1) if high else "") + ALPHABET[low]
