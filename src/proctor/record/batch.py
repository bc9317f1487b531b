"""Finished trials by the thousand: columns instead of objects, for what reads all trials of a large run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from proctor.plan.trial import Trial
from proctor.record.episode import Outcome
from proctor.record.result import TrialResult

BATCH, FETCH = 16_384, 1024
NAMES = ("agent", "task", "index", "seed", *(f.name for f in fields(TrialResult) if f.name != "trial"))
"""Columns of a batch: the trial, then its result."""
PLAIN = re.compile(r"[A-Za-z0-9_./%-]+")
"""Names that mean the same to DuckDB, which also takes upper for lower case."""


@dataclass(frozen=True, eq=False)
class Metrics:
    """Metrics of many trials. `columns` by name, `(n,)` float64, NaN where a trial has no value; trial i has the names
    `named[which[i]]`, with a value or without."""

    columns: dict[str, np.ndarray]
    named: list[tuple[str, ...]]
    which: np.ndarray


class TrialBatch:
    """Some trials, each column by its name in `NAMES`: a sequence with a value for every trial. `outcome` holds the
    values of `Outcome`, `success` and `after_stop` are truthy or not."""

    def __init__(self, columns: dict[str, Sequence[Any]], metrics: Metrics):
        self._columns, self.metrics = columns, metrics

    @classmethod
    def of_columns(cls, columns: dict[str, Sequence[Any]], connection: Any) -> TrialBatch:
        """From sequences by name, with metrics as JSON, which a DuckDB connection takes apart."""
        return cls(columns, _parsed(columns["metrics"], connection))

    @classmethod
    def of(cls, results: Sequence[TrialResult]) -> TrialBatch:
        trials = [result.trial for result in results]
        columns: dict[str, Sequence[Any]] = {name: [getattr(trial, name) for trial in trials] for name in NAMES[:4]}
        columns |= {name: [getattr(result, name) for result in results] for name in NAMES[4:]}
        columns["outcome"] = [outcome.value for outcome in columns["outcome"]]
        return cls(columns, metrics_of(columns["metrics"]))

    def __len__(self) -> int:
        return len(self._columns["agent"])

    def __getitem__(self, name: str) -> Sequence[Any]:
        return self._columns[name]

    @cached_property
    def outcome_codes(self) -> np.ndarray:
        """The place of each trial's outcome in `Outcome`."""
        codes = {outcome.value: code for code, outcome in enumerate(Outcome)}
        return np.array([codes[value] for value in self._columns["outcome"]], np.int8)

    def metric(self, name: str) -> np.ndarray:
        found = self.metrics.columns.get(name)
        return np.full(len(self), np.nan) if found is None else found

    def results(self) -> Iterator[TrialResult]:
        """The trials as objects."""
        outcomes = {outcome.value: outcome for outcome in Outcome}
        for row in zip(*(self._columns[name] for name in NAMES), strict=True):
            values = dict(zip(NAMES[4:], row[4:], strict=True))
            values["outcome"] = outcomes[values["outcome"]]
            values["success"], values["after_stop"] = bool(values["success"]), bool(values["after_stop"])
            if isinstance(values["metrics"], str):
                values["metrics"] = json.loads(values["metrics"])
            yield TrialResult(trial=Trial(*row[:4]), **values)


def numbers(values: Sequence[float | None]) -> np.ndarray:
    """As float64, NaN for None."""
    return np.array(values, dtype=np.float64)


def prints(traces: Sequence[str | None]) -> tuple[np.ndarray, np.ndarray]:
    """Which trials have a trace, and the first 64 bits of each; 0 without one."""
    told = np.array([trace is not None for trace in traces], bool)
    found = np.zeros(len(traces), np.uint64)
    found[told] = np.frombuffer(bytes.fromhex("".join([trace[:16] for trace in traces if trace is not None])), ">u8")
    return told, found


def metrics_of(found: Sequence[dict[str, float | None]]) -> Metrics:
    """From a mapping for each trial."""
    sets: dict[tuple[str, ...], int] = {}
    which = np.array([sets.setdefault(tuple(metrics), len(sets)) for metrics in found], np.int64)
    names = dict.fromkeys(name for named in sets for name in named)
    return Metrics({name: numbers([m.get(name) for m in found]) for name in names}, list(sets), which)


def _parsed(texts: Sequence[str], connection: Any) -> Metrics:
    """From JSON objects of numbers. DuckDB reads them several times as fast as Python, to the same bits."""
    column = np.empty(len(texts), dtype=object)
    column[:] = texts
    connection.register("texts", {"text": column})
    keys = connection.execute("SELECT hash(json_keys(text)) AS keys FROM texts").fetchnumpy()["keys"]
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    named = [tuple(json.loads(texts[int(row)])) for row in first]
    names = list(dict.fromkeys(name for some in named for name in some))
    if not names:
        return Metrics({}, named, which)
    if len({name.lower() for name in names}) < len(names) or not all(map(PLAIN.fullmatch, names)):
        return metrics_of([json.loads(text) for text in texts])
    shape = json.dumps(dict.fromkeys(names, "DOUBLE"))
    fields_ = connection.execute(f"SELECT unnest(from_json(text, '{shape}')) FROM texts").fetchnumpy()
    columns = {name: np.ma.filled(values.astype(np.float64), np.nan) for name, values in fields_.items()}
    return Metrics(columns, named, which)


def batched(results: Iterable[TrialResult]) -> Iterator[TrialBatch]:
    """Results in batches, in their order."""
    rest = iter(results)
    while some := list(islice(rest, BATCH)):
        yield TrialBatch.of(some)
