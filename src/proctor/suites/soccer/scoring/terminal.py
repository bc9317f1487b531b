"""`terminal`: what a competition pays at the end of an episode, from the recorded raw terms of the last step.

The score is the sum over the terms of a table of `value * weight`, added to 0.0 in the order of the table, with `steps`
last: the arithmetic of the official functions, to the last bit. `steps` is no recorded term: it is 1.0 for every
episode (`steps: once`, what the official functions pay) or the number of steps (`steps: count`).

A table is a preset, own weights, or a preset with some weights changed; tasks may have different ones. Terms without a
weight are ignored, as the official functions do; a weight without a recorded term is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from proctor.config.models import ScoringCfg
from proctor.errors import InputError
from proctor.record.batch import Metrics
from proctor.registry import did_you_mean
from proctor.scoring.columns import ColumnScoring, Scores, TrialColumns
from proctor.scoring.protocol import Remark, ScoringOptions
from proctor.suites.soccer.metrics import PAID, PREFIX, term_of
from proctor.suites.soccer.scoring.presets import FAMILIES, PRESETS, WORDS, check_preset, preset_table

STEPS = "steps"


class TerminalOptions(ScoringOptions):
    """`scoring.options` of `terminal`."""

    preset: str | dict[str, str] | None = None
    """A table by name, `sai` for the one that goes with the name of each task, or names by task. Without any weights:
    `sai`."""
    weights: dict[str, float] = Field(default_factory=dict)
    """Term -> weight, for every task; over a preset, what is changed of it."""
    task_weights: dict[str, dict[str, float]] = Field(default_factory=dict)
    """Task -> term -> weight: what is different there."""
    steps: Literal["once", "count"] = "once"
    source: Literal["terms", "evaluation_fn"] = "terms"
    """`evaluation_fn`: the score is what the task's own evaluation function paid on the last step."""

    @field_validator("preset")
    @classmethod
    def _known(cls, preset: str | dict[str, str] | None) -> str | dict[str, str] | None:
        try:
            for name in preset.values() if isinstance(preset, dict) else [preset]:
                if name is not None:
                    check_preset(name)
        except InputError as error:
            raise ValueError(str(error)) from None
        return preset

    @model_validator(mode="before")
    @classmethod
    def _official(cls, data: Any) -> Any:
        """The official tables, where nothing else is said."""
        own = ("preset", "weights", "task_weights", "source")
        return {**data, "preset": "sai"} if isinstance(data, dict) and not any(data.get(key) for key in own) else data

    @model_validator(mode="after")
    def check_source(self) -> TerminalOptions:
        if self.source == "evaluation_fn" and (self.preset is not None or self.weights or self.task_weights):
            raise ValueError("with source: evaluation_fn the function decides; leave out preset and weights")
        return self

    def preset_of(self, task: str) -> str | None:
        return self.preset.get(task) if isinstance(self.preset, dict) else self.preset


@dataclass(frozen=True)
class Table:
    """The weights of one task in the order in which they are added. `preset` is the name of the official table they
    began with; `changed` names the terms whose weights are not that table's."""

    weights: Mapping[str, float]
    preset: str | None
    changed: tuple[str, ...]

    @property
    def official(self) -> bool:
        return self.preset is not None and not self.changed


class TerminalScoring(ColumnScoring):
    """The weighted sum of the last step's terms. Unbounded, so it has no floor of its own."""

    name, version, unit, step_term = "terminal", "1", "reward", STEPS
    term_words = WORDS
    Options = TerminalOptions
    fields = ("steps_total",)
    metrics = None
    options: TerminalOptions

    def __init__(self, cfg: ScoringCfg):
        super().__init__(cfg)
        self.table = cache(self._table)

    def _table(self, task: str) -> Table:
        """The weights of a task. Raises InputError where the options have none for it."""
        options = self.options
        own = {**options.weights, **options.task_weights.get(task, {})}
        name = options.preset_of(task)
        if name is None and not own:
            raise InputError(
                f'the scoring terminal has no weights for the task "{task}"; give preset: NAME or {{TASK: NAME}} '
                f"({', '.join([*FAMILIES, *PRESETS])}), weights: {{TERM: NUMBER}}, or source: evaluation_fn"
            )
        full, official = (None, {}) if name is None else preset_table(name, task)
        weights = {**official, **own}
        last = {STEPS: weights.pop(STEPS)} if STEPS in weights else {}
        changed = tuple(term for term, weight in own.items() if official.get(term) != weight)
        return Table({**weights, **last}, full, changed if full else tuple(own))

    def rate_columns(self, trials: TrialColumns) -> Scores:
        tasks = trials.tasks()
        total, columns = np.full(len(trials), math.nan), {}
        named, which = [], np.zeros(len(trials), np.int64)
        for task in dict.fromkeys(tasks.tolist()):
            own = np.flatnonzero(tasks == task)
            if self.options.source == "evaluation_fn":
                total[own], parts = self._paid(task, own, trials), {}
            else:
                total[own], parts = self._summed(task, own, trials)
            for term, values in parts.items():
                columns.setdefault(term, np.full(len(trials), math.nan))[own] = values
            which[own] = len(named)
            named.append(tuple(parts))
        return Scores(total, Metrics(columns, named, which))

    def _summed(self, task: str, own: np.ndarray, trials: TrialColumns) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The total and the contribution of every weighted term, in the rows of one task. Raises InputError for a
        weight whose term was not recorded."""
        total, parts = np.zeros(len(own)), {}
        steps = np.ones(len(trials)) if self.options.steps == "once" else trials.number("steps_total")
        for term, weight in self.table(task).weights.items():
            if term != STEPS and not trials.recorded(PREFIX + term)[own].all():
                raise InputError(_unrecorded(term, task, _terms(trials.names())))
            values = steps if term == STEPS else trials.metric(PREFIX + term)
            parts[term] = values[own] * weight
            total += parts[term]
        return total, parts

    def _paid(self, task: str, own: np.ndarray, trials: TrialColumns) -> np.ndarray:
        if not trials.recorded(PAID)[own].all():
            raise InputError(
                f'the task "{task}" recorded no {PAID}: it ran without an evaluation function. Score by '
                "weights: --set scoring.options={preset: sai}, or run again with the task's evaluation_fn"
            )
        return trials.metric(PAID)[own]

    def check_tasks(self, tasks: Iterable[str]) -> None:
        tasks, options = list(tasks), self.options
        by_task = options.preset if isinstance(options.preset, dict) else {}
        for task in {**by_task, **options.task_weights}:
            if task not in tasks:
                meant = did_you_mean(task, tasks)
                raise InputError(f'there are weights for "{task}", which is no task{meant} (tasks: {", ".join(tasks)})')
        if options.source == "terms":
            for task in tasks:
                self.table(task)

    def term_weights(self, task: str) -> Mapping[str, float]:
        return {} if self.options.source == "evaluation_fn" else self.table(task).weights

    def reweighted(self, weights: Mapping[str, float], recorded: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        options = self.options
        if options.source == "evaluation_fn":
            raise InputError(
                "the run is scored by its own evaluation function, which has no weights; score by terms: "
                '--set "scoring.options={preset: sai}"'
            )
        own = {task: dict(table) for task, table in options.task_weights.items()}
        for term, weight in weights.items():
            having = [task for task, names in recorded.items() if term == STEPS or PREFIX + term in names]
            if not having:
                known = sorted({STEPS, *(term for names in recorded.values() for term in _terms(names))})
                raise InputError(f'no task recorded a term "{term}"{_meant(term, known)}')
            for task in having:
                own.setdefault(task, {})[term] = weight
        return {**options.model_dump(mode="json"), "task_weights": own}

    def remarks(self, recorded: Mapping[str, Sequence[str]]) -> list[Remark]:
        if self.options.source == "evaluation_fn":
            return [Remark("note", "The score is what the task's own evaluation function paid on the last step.")]
        tables = {task: self.table(task) for task in recorded}
        own = {task: table for task, table in tables.items() if not table.official}
        said = [Remark("caution", _unofficial(own))] if own else []
        ignored = {
            task: [term for term in _terms(names) if term not in tables[task].weights]
            for task, names in recorded.items()
        }
        listed = "; ".join(f"{task}: {', '.join(terms)}" for task, terms in ignored.items() if terms)
        said += [Remark("note", f"Recorded terms without a weight count nothing: {listed}.")] if listed else []
        if self.options.steps == "count" and any(table.preset for table in tables.values()):
            words = "The weight of steps is paid for every step (steps: count); the official functions pay it once."
            said.append(Remark("caution", words))
        return said


def _unofficial(tables: Mapping[str, Table]) -> str:
    changed = []
    for task, table in tables.items():
        if table.preset is None:
            changed.append(f"{task} has weights of its own")
        else:
            official = {term: f"{weight:g}" for term, weight in PRESETS[table.preset].items()}
            pairs = ", ".join(f"{t} {table.weights[t]:g} for {official.get(t, 'none')}" for t in table.changed)
            changed.append(f"{task}: {pairs}")
    return f"These are not the official weights, and the scores not official ones: {'; '.join(changed)}."


def _terms(metrics: Iterable[str]) -> list[str]:
    return [term for name in metrics if (term := term_of(name)) is not None]


def _unrecorded(term: str, task: str, known: Sequence[str]) -> str:
    if not known:
        return f'the task "{task}" recorded no terms (signals term/NAME), so the scoring terminal has nothing to weigh'
    return (
        f'there is a weight for "{term}", a term that the task "{task}" did not record{_meant(term, known)}. Correct '
        "it, or give weights by task (task_weights); `proctor score RUN --set scoring.options=...` needs no new run"
    )


def _meant(term: str, known: Sequence[str]) -> str:
    return did_you_mean(term, known) + f" (recorded: {', '.join(known)})"
