"""All finished trials of a run as arrays, each scored once: the one reader of trials as columns.

Comparisons, leaderboards, reports and re-scoring read trials through `Trials`. About 300 bytes a trial where every
column is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.record.batch import Metrics, TrialBatch, no_metrics, numbers, prints
from proctor.record.errors import decisive_line
from proctor_host.episode import Outcome
from proctor_host.trials import Trial

OUTCOMES = tuple(Outcome)
SCORED = np.array([outcome.scored for outcome in OUTCOMES])
BROKEN = np.array([outcome.broken_by_policy for outcome in OUTCOMES])
JUDGED = np.array([outcome in (Outcome.SUCCESS, Outcome.FAILURE, Outcome.TRUNCATED) for outcome in OUTCOMES])
"""Of each outcome: whether a trial that ended so is scored, whether the policy broke it, and whether it says that the
trial was a success or none."""

Scorer = Callable[[TrialBatch], tuple[np.ndarray, Metrics]]
"""The total of each trial of a batch, NaN where it has none, and its components, as `Metrics` has metrics."""

_WHOLE = ("index", "attempts", "clipped_steps")
_REAL = (
    "steps_total",
    "max_steps",
    "steps_to_success",
    "first_success",
    "episode_reward",
    "wall_time_s",
    "sim_time_s",
)
_FLAGS = ("success", "after_stop")
_TEXT = ("npz", "video", "case")


@dataclass(frozen=True, eq=False)
class Trials:
    """`columns` by name, in the order in which the trials came; NaN or None where there is no value. Those of the
    batches, as arrays, and: `cell` counts `pairs` of (agent, task), `outcome` is the place in `OUTCOMES`, `error` the
    decisive line, `print` the first 64 bits of the trace (0 where there is none, then `traced` is false), `score` what
    the scorer says."""

    pairs: list[tuple[str, str]]
    n: int
    columns: dict[str, np.ndarray]
    metrics: dict[str, np.ndarray]
    components: dict[str, np.ndarray]
    cell_metrics: list[set[str]]
    """Names that scored trials of each cell have, with a value or without."""
    cell_components: list[set[str]]
    initial_states: Mapping[str, int] = field(default_factory=dict)
    """How many initial states a task has, where that is known: trials begin in them in turn, by index."""

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def rows(self, agent: str, task: str) -> np.ndarray:
        """Where the trials of one agent on one task are, in their order."""
        order, ends, places = self._by_cell
        cell = places[agent, task]
        return order[ends[cell] : ends[cell + 1]]

    def counted(self, agent: str, task: str) -> np.ndarray:
        """Where the trials are that enter numbers: those before a stop, without repeats. A trial is a repeat where its
        task is known to have begun it in the state of an earlier one, and every trial that began there was recorded and
        went alike to the byte. Equal episodes of a task whose seeds matter are not repeats: each is evidence."""
        rows = self.rows(agent, task)
        rows = rows[~self["after_stop"][rows]]
        states = self.initial_states.get(task)
        if states is None or not len(rows):
            return rows
        repeated = np.zeros(len(rows), bool)
        begun = self["index"][rows] % states
        scored = SCORED[self["outcome"][rows]] & ~BROKEN[self["outcome"][rows]]
        for state in np.unique(begun[scored]).tolist():
            alike = np.flatnonzero(scored & (begun == state))
            found = self["print"][rows[alike]]
            if len(alike) > 1 and found[0] != 0 and (found == found[0]).all():
                repeated[alike[1:]] = True
        return rows[~repeated]

    def metrics_of(self, task: str) -> list[str]:
        """The metrics that have a value in some trial of a task, by name."""
        cells = [cell for cell, pair in enumerate(self.pairs) if pair[1] == task]
        own = np.isin(self["cell"], cells)
        return sorted(name for name, column in self.metrics.items() if np.isfinite(column[own]).any())

    def measured(self) -> list[str]:
        """The metrics that some trial has a number for, by name."""
        return sorted(name for name, column in self.metrics.items() if not np.isnan(column).all())

    @cached_property
    def without_success(self) -> frozenset[str]:
        """Tasks on which nothing says what success is: trials ran to their end, and none was a success or a failure."""
        outcome = self["outcome"]
        done, judged = (
            {self.pairs[cell][1] for cell in np.unique(self["cell"][rows]).tolist()}
            for rows in (outcome == OUTCOMES.index(Outcome.DONE), JUDGED[outcome])
        )
        return frozenset(done - judged)

    @cached_property
    def _by_cell(self) -> tuple[np.ndarray, np.ndarray, dict[tuple[str, str], int]]:
        order = np.argsort(self["cell"], kind="stable")
        ends = np.searchsorted(self["cell"][order], np.arange(len(self.pairs) + 1))
        return order, ends, {pair: cell for cell, pair in enumerate(self.pairs)}


def read_trials(
    pairs: Sequence[tuple[str, str]],
    batches: Iterable[TrialBatch],
    scorer: Scorer | None = None,
    initial_states: Mapping[str, int] | None = None,
) -> Trials:
    """The trials of these (agent, task), from batches that have some columns or all. Raises InputError for a trial of
    no such pair."""
    places = {pair: place for place, pair in enumerate(pairs)}
    parts: list[dict[str, np.ndarray]] = []
    metrics, components = [], []
    cell_metrics, cell_components = ([set[str]() for _ in pairs] for _ in range(2))
    lines: dict[str, str] = {}
    for batch in batches:
        total, made = (None, no_metrics(len(batch))) if scorer is None else scorer(batch)
        columns = {"cell": _cells(batch, places), **_arrays(batch, lines)} | ({} if total is None else {"score": total})
        if "outcome" in columns and "after_stop" in columns:
            entering = SCORED[columns["outcome"]] & ~columns["after_stop"]
            _note_names(cell_metrics, batch.metrics, entering, columns["cell"])
            _note_names(cell_components, made, entering, columns["cell"])
        parts.append(columns)
        metrics.append(batch.metrics)
        components.append(made)
    whole = {name: np.concatenate([part[name] for part in parts]) for name in (parts[0] if parts else ())}
    n = sum(len(part["cell"]) for part in parts)
    named = (_joined(metrics), _joined(components))
    return Trials(list(places), n, whole or _nothing(), *named, cell_metrics, cell_components, initial_states or {})


def _arrays(batch: TrialBatch, lines: dict[str, str]) -> dict[str, np.ndarray]:
    """Every column that the batch has, as an array. `lines` has the lines of errors: equal ones are kept once."""
    found = {name: np.array(batch[name], np.int64) for name in _WHOLE if name in batch}
    found |= {"seed": np.array(batch["seed"], np.uint64)} if "seed" in batch else {}
    found |= {name: numbers(batch[name]) for name in _REAL if name in batch}
    found |= {name: np.array(batch[name], bool) for name in _FLAGS if name in batch}
    found |= {name: _texts(batch[name]) for name in _TEXT if name in batch}
    if "outcome" in batch:
        found["outcome"] = batch.outcome_codes
    if "trace" in batch:
        found["traced"], found["print"] = prints(batch["trace"])
    if "error" in batch:
        first = [None if error is None else decisive_line(error) for error in batch["error"]]
        found["error"] = _texts([None if line is None else lines.setdefault(line, line) for line in first])
    return found


def _cells(batch: TrialBatch, places: dict[tuple[str, str], int]) -> np.ndarray:
    codes = np.array([places.get(pair, -1) for pair in zip(batch["agent"], batch["task"], strict=True)], np.int32)
    if (codes < 0).any():
        row = int(codes.argmin())
        key = Trial(batch["agent"][row], batch["task"][row], batch["index"][row], 0).key
        raise InputError(f"trial {key} belongs to no agent and task of the config")
    return codes


def _joined(parts: Sequence[Metrics]) -> dict[str, np.ndarray]:
    """The columns of all parts, NaN where a part does not have one."""
    names = dict.fromkeys(name for part in parts for name in part.columns)
    absent = [np.full(len(part.which), math.nan) for part in parts]
    return {
        name: np.concatenate([part.columns.get(name, nan) for part, nan in zip(parts, absent, strict=True)])
        for name in names
    }


def _note_names(by_cell: list[set[str]], found: Metrics, entering: np.ndarray, cells: np.ndarray) -> None:
    """Add the names of the trials that enter the numbers to their cells."""
    for code in np.unique(cells[entering].astype(np.int64) * len(found.named) + found.which[entering]).tolist():
        cell, which = divmod(code, len(found.named))
        by_cell[cell].update(found.named[which])


def _texts(values: Sequence[Any]) -> np.ndarray:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def _nothing() -> dict[str, np.ndarray]:
    """The columns of a run without a finished trial: empty, with their types."""
    kinds = {"cell": np.int32, "outcome": np.int8, "traced": np.bool_, "score": np.float64}
    kinds |= dict.fromkeys(("seed", "print"), np.uint64)
    kinds |= dict.fromkeys(_WHOLE, np.int64) | dict.fromkeys(_REAL, np.float64) | dict.fromkeys(_FLAGS, np.bool_)
    kinds |= dict.fromkeys((*_TEXT, "error"), np.object_)
    return {name: np.empty(0, kind) for name, kind in kinds.items()}
