"""What is cut out of the rounds of worlds on a device when a trial has ended: all that its record is made of, as data.

A cut is made where the rounds are, and is made into a record there or in another process: see `proctor_host.scribes`.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping, NamedTuple

import numpy as np

from proctor_host.blocks import Packing
from proctor_host.cfg import RecordCfg
from proctor_host.episode import Outcome
from proctor_host.messages import Start
from proctor_host.task import Task
from proctor_host.trial import EndedTrial, Ending, RunningTrial


class Cut(NamedTuple):
    """Of one trial: how it began and ended, and its rounds as rows of bytes, packed as `kinds` says."""

    start: Start
    labels: tuple[str, ...]
    """Of the observations that are recorded."""
    constants: Mapping[str, np.ndarray]
    kinds: Mapping[str, Any]
    rows: np.ndarray
    """`(steps, bytes)`."""
    began: list[np.ndarray]
    """The observation that the trial began with, by leaf."""
    seen: np.ndarray | None
    """The round after which its policy saw it first, where that was not at once."""
    last: bytes
    """The last observation."""
    end: tuple[bool, bool]
    clipped_steps: int
    started: float
    stopped: float | None
    seconds: float
    outcome: Outcome | None
    error: str | None
    success_known: bool

    def finish(self, task: Task, cfg: RecordCfg) -> EndedTrial:
        """The finished trial. Raises what cannot be made into a record."""
        trial, packing = RunningTrial(self.start, task, self.labels, None), Packing(self.kinds)
        trial.record.constants = dict(self.constants)
        trial.first = b"".join([leaf.tobytes() for leaf in self.began])
        if self.labels:
            trial.record.observe(self.began if self.seen is None else _leaves(packing, self.seen, len(self.began)))
        trial.record.lies_in(_Rows(packing, self.rows), 0, 0, len(self.rows))
        trial.end, trial.clipped_steps = self.end, self.clipped_steps
        trial.started, trial.stopped = self.started, self.stopped
        return trial.finish(Ending(self.outcome, self.error, self.success_known, self.last), cfg)


def _leaves(packing: Packing, seen: np.ndarray, count: int) -> list[np.ndarray]:
    found = dict(packing.unpacked(seen))
    return [found[str(i)][0] for i in range(count)]


class _Rows:
    """A stretch (`proctor_host.tape`) of one trial alone."""

    short = False

    def __init__(self, packing: Packing, rows: np.ndarray):
        self._packing, self._rows, self.count = packing, rows, len(rows)

    def rows(self, row: int, first: int, stop: int) -> Iterator[tuple[str, np.ndarray]]:
        for name, column in self._packing.unpacked(self._rows[first:stop]):
            yield name, column.astype(np.float64) if name == "rewards" else column
