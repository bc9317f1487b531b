"""Trees of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from proctor.policies.tree import split_rows, take_row, tree_map

TREES: dict[str, Any] = {
    "array": np.arange(12.0).reshape(4, 3),
    "numbers": np.arange(4),
    "dict": {"a": np.arange(8).reshape(4, 2), "b": {"c": np.ones((4, 1, 2), np.float32)}},
    "tuple": (np.arange(4), [np.zeros((4, 2)), np.ones(4, bool)]),
    "nothing": None,
    "hollow": {"a": None, "b": np.arange(4), "c": (), "d": {}},
}


def plain(tree: Any) -> Any:
    return tree_map(lambda leaf: (str(leaf.dtype), leaf.shape, leaf.tobytes()), tree)


@pytest.mark.parametrize("name", TREES)
def test_splitting_is_taking_every_row(name: str) -> None:
    tree = TREES[name]
    expected = [None if tree is None else plain(take_row(tree, row)) for row in range(3)]
    assert [plain(row) for row in split_rows(tree, 3)] == expected


def test_rows_do_not_follow_what_becomes_of_the_tree() -> None:
    tree = {"a": np.zeros((2, 2))}
    rows = split_rows(tree, 2)
    tree["a"][:] = 7
    rows[0]["a"][:] = 1
    assert (rows[0]["a"].sum(), rows[1]["a"].sum()) == (2.0, 0.0)


@pytest.mark.filterwarnings("ignore:__array__ implementation")
def test_tensors_become_arrays() -> None:
    torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    (row,) = split_rows(torch.ones((2, 3)), 1)
    assert type(row) is np.ndarray
