"""Looking for cycles of garbage less often.

The records of running trials are many objects and live long; Python's own threshold, 700 new objects, makes it look
through them again and again.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import Iterator

THRESHOLDS = (20_000, 20, 20)


def collect_seldom() -> None:
    """From now on, in this process."""
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    gc.enable()


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Meanwhile. A collector that the caller has tamed further, or switched off, stays as it is."""
    before = gc.get_threshold()
    if 0 < before[0] < THRESHOLDS[0]:
        gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
