"""Some thousands of finished trials as raw columns: what a ledger gives, and what a scoring scores, at a time.

`record.columns` makes arrays of them and puts them together."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from proctor.record.duck import connected
from proctor_host.episode import Outcome
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

BATCH, FETCH = 16_384, 1024
MANY = 2048
"""So many trials are read sooner by DuckDB, although it takes tens of milliseconds to start."""
KEY = ("agent", "task", "index", "seed")
NAMES = (*KEY, *(f.name for f in fields(TrialResult) if f.name != "trial"))
"""Columns of a batch: the trial, then its result."""
PLAIN = re.compile(r"[A-Za-z0-9_./%-]+")
"""Names that mean the same to DuckDB, which also takes upper for lower case."""
_OUTCOMES = {outcome.value: outcome for outcome in Outcome}
_CODES = {value: code for code, value in enumerate(_OUTCOMES)}


@dataclass(frozen=True, eq=False)
class Metrics:
    """Metrics of many trials. `columns` by name, `(n,)` float64, NaN where a trial has no value; trial i has the names
    `named[which[i]]`, with a value or without."""

    columns: dict[str, np.ndarray]
    named: list[tuple[str, ...]]
    which: np.ndarray


class TrialBatch:
    """Some trials, each column by its name in `NAMES` (all of them, or those that were asked for): a sequence with a
    value for every trial. `outcome` holds the values of `Outcome`, `success` and `after_stop` are truthy or not, and
    `success` is None where nothing says what it is."""

    def __init__(self, columns: dict[str, Sequence[Any]], metrics: Metrics):
        self._columns, self.metrics = columns, metrics

    @classmethod
    def of(cls, results: Sequence[TrialResult]) -> TrialBatch:
        trials = [result.trial for result in results]
        columns: dict[str, Sequence[Any]] = {name: [getattr(trial, name) for trial in trials] for name in NAMES[:4]}
        columns |= {name: [getattr(result, name) for result in results] for name in NAMES[4:]}
        columns["outcome"] = [outcome.value for outcome in columns["outcome"]]
        return cls(columns, metrics_of(columns["metrics"]))

    def __len__(self) -> int:
        return len(self._columns["agent"])

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> Sequence[Any]:
        return self._columns[name]

    @cached_property
    def outcome_codes(self) -> np.ndarray:
        """The place of each trial's outcome in `Outcome`."""
        return np.array([_CODES[value] for value in self._columns["outcome"]], np.int8)

    def metric(self, name: str) -> np.ndarray:
        found = self.metrics.columns.get(name)
        return np.full(len(self), np.nan) if found is None else found

    def results(self) -> Iterator[TrialResult]:
        """The trials as objects; the batch must have every column."""
        return map(result_of, zip(*(self._columns[name] for name in NAMES), strict=True))


def signed(seed: int) -> int:
    """A seed below 2**64 as the 64 bits with a sign that a ledger keeps of it."""
    return seed if seed < 2**63 else seed - 2**64


def unsigned(kept: int) -> int:
    """The seed of which a ledger keeps this."""
    return kept if kept >= 0 else kept + 2**64


def result_of(row: Sequence[Any]) -> TrialResult:
    """A trial from its values in the order of `NAMES`, as a ledger keeps them."""
    values = dict(zip(NAMES[4:], row[4:], strict=True))
    values["outcome"] = _OUTCOMES[values["outcome"]]
    values["success"] = None if values["success"] is None else bool(values["success"])
    values["after_stop"] = bool(values["after_stop"])
    if isinstance(values["metrics"], str):
        values["metrics"] = json.loads(values["metrics"])
    return TrialResult(trial=Trial(row[0], row[1], row[2], unsigned(row[3])), **values)


def numbers(values: Sequence[float | None]) -> np.ndarray:
    """The values as float64, with NaN for None."""
    return np.array(values, dtype=np.float64)


def prints(traces: Sequence[str | None]) -> tuple[np.ndarray, np.ndarray]:
    """Which trials have a trace, and the first 64 bits of each; 0 without one."""
    traced = np.array([trace is not None for trace in traces], bool)
    found = np.zeros(len(traces), np.uint64)
    found[traced] = np.frombuffer(bytes.fromhex("".join([trace[:16] for trace in traces if trace is not None])), ">u8")
    return traced, found


def no_metrics(n: int) -> Metrics:
    """Of n trials, where none was asked for."""
    return Metrics({}, [()], np.zeros(n, np.int64))


def metrics_of(found: Sequence[dict[str, float | None]]) -> Metrics:
    """From a mapping for each trial."""
    sets: dict[tuple[str, ...], int] = {}
    which = np.array([sets.setdefault(tuple(metrics), len(sets)) for metrics in found], np.int64)
    names = dict.fromkeys(name for named in sets for name in named)
    return Metrics({name: numbers([m.get(name) for m in found]) for name in names}, list(sets), which)


def parsed_metrics(texts: Sequence[str], only: Collection[str] | None) -> Metrics:
    """From JSON objects of numbers; all metrics, or `only` some. DuckDB reads them several times as fast as Python, to
    the same bits, where they are so many that it is worth its start."""
    if len(texts) < MANY:
        return _parsed_here(texts, only)
    with connected() as parser:
        column = np.empty(len(texts), dtype=object)
        column[:] = texts
        parser.register("texts", {"text": column})
        return _parsed_by(parser, texts, only)


def _parsed_here(texts: Sequence[str], only: Collection[str] | None) -> Metrics:
    found = [json.loads(text) for text in texts]
    return metrics_of(found if only is None else [{n: v for n, v in m.items() if n in only} for m in found])


def _parsed_by(parser: Any, texts: Sequence[str], only: Collection[str] | None) -> Metrics:
    """By a DuckDB connection in which the texts are the table `texts`."""
    keys = parser.execute("SELECT hash(json_keys(text)) AS keys FROM texts").fetchnumpy()["keys"]
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    named = [
        tuple(name for name in json.loads(texts[int(row)]) if only is None or name in only) for row in first.tolist()
    ]
    names = list(dict.fromkeys(name for some in named for name in some))
    if not names:
        return Metrics({}, named, which)
    if len({name.lower() for name in names}) < len(names) or not all(map(PLAIN.fullmatch, names)):
        return _parsed_here(texts, only)
    shape = json.dumps(dict.fromkeys(names, "DOUBLE"))
    fields_ = parser.execute(f"SELECT unnest(from_json(text, '{shape}')) FROM texts").fetchnumpy()
    columns = {name: np.ma.filled(values.astype(np.float64), np.nan) for name, values in fields_.items()}
    return Metrics(columns, named, which)


def batched(results: Iterable[TrialResult]) -> Iterator[TrialBatch]:
    """Results in batches, in their order."""
    rest = iter(results)
    while some := list(islice(rest, BATCH)):
        yield TrialBatch.of(some)
