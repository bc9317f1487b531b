"""Trees of arrays: nested dicts, tuples and lists whose leaves share the first axis, the row."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """`function` on every leaf (and on the leaves at the same place of `others`); None stays None."""
    if tree is None:
        return None
    if isinstance(tree, dict):
        return {key: tree_map(function, value, *(o[key] for o in others)) for key, value in tree.items()}
    if isinstance(tree, (tuple, list)):
        mapped = [tree_map(function, value, *(o[i] for o in others)) for i, value in enumerate(tree)]
        return mapped if isinstance(tree, list) else tuple(mapped)
    return function(tree, *others)


def take_rows(tree: Any, rows: Sequence[int]) -> Any:
    """These rows of every leaf, as copies."""
    index = np.asarray(rows, dtype=np.intp)
    return tree_map(lambda leaf: np.asarray(leaf)[index], tree)


def take_row(tree: Any, row: int) -> Any:
    """One row of every leaf, without the row axis, as a copy."""
    return tree_map(lambda leaf: np.array(leaf[row]), tree)


def split_rows(tree: Any, rows: int) -> list[Any]:
    """The first `rows` rows, each as `take_row` gives it, in a fraction of the time. They share one copy."""
    if tree is None:
        return [None] * rows
    if isinstance(tree, dict):
        columns = zip(*(split_rows(value, rows) for value in tree.values()), strict=True)
        return [dict(zip(tree, row, strict=True)) for row in columns] if tree else [{} for _ in range(rows)]
    if isinstance(tree, (tuple, list)):
        kind = type(tree) if type(tree) in (tuple, list) else tuple
        columns = zip(*(split_rows(value, rows) for value in tree), strict=True)
        return [kind(row) for row in columns] if tree else [kind() for _ in range(rows)]
    copied = np.array(tree[:rows])
    return [copied[row, ...] for row in range(rows)]


def stack_rows(trees: Sequence[Any]) -> Any:
    """Trees of one row each (without a row axis) put into one with a row axis."""
    return tree_map(lambda *leaves: np.stack(leaves), trees[0], *trees[1:])


def frozen(tree: Any) -> list[tuple[str, str, tuple[int, ...], bytes]]:
    """A tree of arrays as values that are equal exactly when the trees are equal to the byte; nothing for None."""
    found = ((path, np.asarray(leaf)) for path, leaf in leaves_of(tree) if leaf is not None)
    return [(path, leaf.dtype.str, leaf.shape, _bytes(leaf)) for path, leaf in found]


def _bytes(leaf: np.ndarray) -> bytes:
    """Of objects, what they are made of: where they lie says nothing."""
    return pickle.dumps(leaf.tolist()) if leaf.dtype.hasobject else np.ascontiguousarray(leaf).tobytes()


def leaves_of(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted path, leaf) in a fixed order; the path of a bare leaf is empty."""
    if isinstance(tree, dict):
        pairs = [(str(key), tree[key]) for key in tree]
    elif isinstance(tree, (tuple, list)):
        pairs = [(str(i), value) for i, value in enumerate(tree)]
    else:
        yield path, tree
        return
    for key, value in pairs:
        yield from leaves_of(value, f"{path}.{key}" if path else key)
