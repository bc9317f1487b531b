"""All finished trials of a run as columns, each scored once: what both the numbers of a report and its tables are made
of. About 300 bytes a trial."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from proctor.config.models import EvalConfig
from proctor.errors import InputError
from proctor.plan.trial import Trial
from proctor.record.batch import Metrics, TrialBatch, numbers, prints
from proctor.record.episode import Outcome
from proctor.scoring import Scoring
from proctor.scoring.columns import score_batch

OUTCOMES = tuple(Outcome)
_WHOLE = ("index", "seed", "attempts", "steps_total", "max_steps", "clipped_steps")
_REAL = ("steps_to_success", "episode_reward", "wall_time_s", "sim_time_s")
_TEXT = ("npz", "video", "case")


class Trials:
    """`columns` by name, in the order in which the trials came; NaN or None where there is no value. `cell` counts
    (agent, task) pairs of the config, `outcome` is the place in `OUTCOMES`, `error` the first line, `print` the first
    64 bits of the trace (0 where there is none)."""

    def __init__(self, cfg: EvalConfig, batches: Iterable[TrialBatch], scoring: Scoring):
        self.pairs = [(agent.name, task.name) for agent in cfg.agents for task in cfg.tasks]
        self._cells = {pair: cell for cell, pair in enumerate(self.pairs)}
        self._parts: dict[str, list[np.ndarray]] = {}
        self._lines: dict[str, str] = {}
        self.cell_metrics: list[set[str]] = [set() for _ in self.pairs]
        """Names that scored trials of each cell have, with a value or without."""
        self.cell_components: list[set[str]] = [set() for _ in self.pairs]
        self._named: dict[str, _Growing] = {}
        self.n = 0
        for batch in batches:
            self._add(batch, scoring)
        self.columns = {name: np.concatenate(parts) for name, parts in self._parts.items()} or _nothing()
        self.metrics = {name[1:]: column.whole(self.n) for name, column in self._named.items() if name[0] == "m"}
        self.components = {name[1:]: column.whole(self.n) for name, column in self._named.items() if name[0] == "c"}
        del self._parts, self._named

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def _add(self, batch: TrialBatch, scoring: Scoring) -> None:
        cells = self._cell_codes(batch)
        scores = score_batch(scoring, batch)
        outcome = batch.outcome_codes
        told, found = prints(batch["trace"])
        columns: dict[str, np.ndarray] = {
            "cell": cells,
            "outcome": outcome,
            "score": scores.total,
            "success": np.array(batch["success"], bool),
            "after_stop": np.array(batch["after_stop"], bool),
            "told": told,
            "print": found,
            "error": _texts([None if error is None else self._line(error) for error in batch["error"]]),
            **{name: np.array(batch[name], np.int64) for name in _WHOLE},
            **{name: numbers(batch[name]) for name in _REAL},
            **{name: _texts(batch[name]) for name in _TEXT},
        }
        for name, values in columns.items():
            self._parts.setdefault(name, []).append(values)
        entering = _SCORED[outcome] & ~columns["after_stop"]
        _note_names(self.cell_metrics, batch.metrics, entering, cells)
        self._add_named("m", batch.metrics.columns)
        _note_names(self.cell_components, scores.components, entering, cells)
        self._add_named("c", scores.components.columns)
        self.n += len(batch)

    def _cell_codes(self, batch: TrialBatch) -> np.ndarray:
        pairs = zip(batch["agent"], batch["task"], strict=True)
        codes = np.array([self._cells.get(pair, -1) for pair in pairs], np.int32)
        if (codes < 0).any():
            row = int(codes.argmin())
            key = Trial(batch["agent"][row], batch["task"][row], batch["index"][row], 0).key
            raise InputError(f"trial {key} belongs to no agent and task of the config")
        return codes

    def _add_named(self, kind: str, columns: dict[str, np.ndarray]) -> None:
        for name, values in columns.items():
            self._named.setdefault(kind + name, _Growing()).add(self.n, values)

    def _line(self, error: str) -> str:
        """The first line of an error; equal ones are kept once."""
        line = first_line(error)
        return self._lines.setdefault(line, line)


class _Growing:
    """A column of which some batches have nothing."""

    def __init__(self) -> None:
        self._parts: list[np.ndarray] = []
        self._n = 0

    def add(self, start: int, values: np.ndarray) -> None:
        self._parts += [np.full(start - self._n, math.nan), values]
        self._n = start + len(values)

    def whole(self, n: int) -> np.ndarray:
        return np.concatenate([*self._parts, np.full(n - self._n, math.nan)])


_SCORED = np.array([outcome.scored for outcome in OUTCOMES])


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
    names = ("cell", "outcome", "score", "success", "after_stop", "told", "print", "error", *_WHOLE, *_REAL, *_TEXT)
    empty = {name: np.empty(0, np.int64) for name in names}
    return empty | {name: np.empty(0, object) for name in (*_TEXT, "error")}


def first_line(text: str | None) -> str:
    """The first line of an error, cut to what fits a table."""
    line = next((line.strip() for line in (text or "").splitlines() if line.strip()), "")
    return line if len(line) <= 200 else line[:199] + "…"
