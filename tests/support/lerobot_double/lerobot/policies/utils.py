"""The queues of `select_action`."""

from __future__ import annotations

from collections import deque
from typing import Any


def populate_queues(queues: dict[str, deque[Any]], batch: dict[str, Any]) -> dict[str, deque[Any]]:
    """Add what a batch has for them; a queue that is not full is filled with it."""
    for key in batch:
        if key in queues:
            queues[key].append(batch[key])
            while len(queues[key]) != queues[key].maxlen:
                queues[key].append(batch[key])
    return queues
