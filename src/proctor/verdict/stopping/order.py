"""The order in which a sequential test reads results: by index, then by task as the config lists them.

So every look has seen nearly the same number of trials of each task. The order belongs to the config alone: how many
trials run at once, on what, and in which order they end change nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from proctor.config.models import EvalConfig


class ReadingOrder:
    """The trials of one agent as places 0 .. `places` - 1 in the order of reading."""

    def __init__(self, cfg: EvalConfig):
        self._counts = [cfg.trials_of(task) for task in cfg.tasks]
        self._tasks = {task.name: position for position, task in enumerate(cfg.tasks)}
        self.places = sum(self._counts)

    def place(self, task: str, index: int) -> int:
        """Where a trial comes; tasks that have no more trials are passed over."""
        earlier = sum(min(count, index) for count in self._counts)
        return earlier + sum(count > index for count in self._counts[: self._tasks[task]])

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """(task, index) from the first place to the last."""
        for index in range(max(self._counts)):
            yield from ((task, index) for task, position in self._tasks.items() if index < self._counts[position])
