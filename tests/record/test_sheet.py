"""A step as one row of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor_host.sheet import HEAD, Sheet

KINDS: dict[str, Any] = {
    "count": ((), np.int64),
    "force": ((3,), np.float64),
    "wire": ((4, 3), np.float32),
    "touching": ((), np.bool_),
}
SHEET = Sheet({("state",): ((2,), np.float32), ("told", "age"): ((), np.uint8)}, KINDS)


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
