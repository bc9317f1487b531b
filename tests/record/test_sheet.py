"""Steps as rows of numbers are steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from proctor.record.builder import EpisodeBuilder
from proctor.record.sheet import HEAD, Sheet

KINDS: dict[str, Any] = {
    "count": ((), np.int64),
    "force": ((3,), np.float64),
    "wire": ((4, 3), np.float32),
    "touching": ((), np.bool_),
}
SHEET = Sheet({("state",): ((2,), np.float32), ("told", "age"): ((), np.uint8)}, KINDS)


def signals(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "count": int(rng.integers(-(2**52), 2**52)),
        "force": rng.normal(size=3) * 10.0 ** rng.integers(-300, 300),
        "wire": rng.normal(size=(4, 3)).astype(np.float32),
        "touching": bool(rng.integers(2)),
    }


def row_of(values: dict[str, Any], row: np.ndarray) -> np.ndarray:
    for name, cells in SHEET.signals.items():
        row[cells.at] = np.ravel(values[name])
    return row


@given(st.lists(st.booleans(), min_size=1, max_size=12), st.integers(0, 2**32))
def test_a_record_does_not_tell_rows_from_steps(as_row: list[bool], seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps, mixed = (EpisodeBuilder((2,), np.float32, 0.1) for _ in range(2))
    pages = SHEET.rows(len(as_row))
    for i, in_row in enumerate(as_row):
        action, reward, success, values = rng.normal(size=2), float(rng.normal()), bool(rng.integers(2)), signals(rng)
        steps.add(action, reward, success, values)
        if in_row:
            count = mixed.add_row(action, reward, success, SHEET, row_of(values, pages[i]))
        else:
            count = mixed.add(action, reward, success, values)
        assert count == len(mixed) == i + 1
        assert (mixed.ever_succeeded, mixed.succeeded_last) == (steps.ever_succeeded, success)
    expected, found = steps.arrays(True, False), mixed.arrays(True, False)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, strict=True)


def test_leaves_are_columns_of_their_own() -> None:
    rows = SHEET.rows(3)
    rows[:, HEAD:] = np.arange(3)[:, None] + np.arange(SHEET.width - HEAD) / 10
    age, state = SHEET.leaves(rows, [("told", "age"), ("state",)])
    assert (age.dtype, age.tolist()) == (np.uint8, [0, 1, 2])
    assert (state.dtype, state.shape) == (np.float32, (3, 2))
    rows[:] = -1
    assert state[2].tolist() == [2.0, np.float32(2.1)]


def test_a_row_has_room_for_everything_and_no_more() -> None:
    cells = [*SHEET.observation.values(), *SHEET.signals.values()]
    taken = [i for each in cells for i in range(each.at.start, each.at.stop)]
    assert taken == list(range(HEAD, SHEET.width))
