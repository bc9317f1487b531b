"""Finished trials by the thousand: columns instead of objects, for what reads all trials of a large run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from typing import Any

import numpy as np

from proctor.plan.trial import Trial
from proctor.record.episode import Outcome
from proctor.record.result import TrialResult

BATCH = 16_384
NAMES = ("agent", "task", "index", "seed", *(f.name for f in fields(TrialResult) if f.name != "trial"))
"""Columns of a batch: the trial, then its result."""


@dataclass(frozen=True, eq=False)
class TrialBatch:
    """Some trials, each column by its name in `NAMES`: a sequence with a value for every trial. `outcome` holds the
    values of `Outcome`, `success` and `after_stop` are truthy or not, `metrics` are mappings."""

    columns: dict[str, Sequence[Any]]
    _numbers: dict[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of_rows(cls, rows: Sequence[tuple[Any, ...]]) -> TrialBatch:
        """From tuples in the order of `NAMES`, with metrics as JSON."""
        columns: dict[str, Sequence[Any]] = dict(zip(NAMES, zip(*rows, strict=True), strict=True))
        return cls({**columns, "metrics": json.loads(f"[{','.join(columns['metrics'])}]")})

    @classmethod
    def of(cls, results: Sequence[TrialResult]) -> TrialBatch:
        trials = [result.trial for result in results]
        columns: dict[str, Sequence[Any]] = {name: [getattr(trial, name) for trial in trials] for name in NAMES[:4]}
        columns |= {name: [getattr(result, name) for result in results] for name in NAMES[4:]}
        return cls({**columns, "outcome": [outcome.value for outcome in columns["outcome"]]})

    def __len__(self) -> int:
        return len(self.columns["agent"])

    def __getitem__(self, name: str) -> Sequence[Any]:
        return self.columns[name]

    def metric(self, name: str) -> np.ndarray:
        """A metric of every trial as float64, NaN where there is no value."""
        if name not in self._numbers:
            self._numbers[name] = numbers([metrics.get(name) for metrics in self.columns["metrics"]])
        return self._numbers[name]

    def results(self) -> Iterator[TrialResult]:
        """The trials as objects."""
        outcomes = {outcome.value: outcome for outcome in Outcome}
        for row in zip(*(self.columns[name] for name in NAMES), strict=True):
            values = dict(zip(NAMES[4:], row[4:], strict=True))
            values["outcome"] = outcomes[values["outcome"]]
            values["success"], values["after_stop"] = bool(values["success"]), bool(values["after_stop"])
            yield TrialResult(trial=Trial(*row[:4]), **values)


def numbers(values: Sequence[float | None]) -> np.ndarray:
    """As float64, NaN for None."""
    return np.array(values, dtype=np.float64)


def batched(results: Iterable[TrialResult]) -> Iterator[TrialBatch]:
    """Results in batches, in their order."""
    rest = iter(results)
    while some := list(islice(rest, BATCH)):
        yield TrialBatch.of(some)
