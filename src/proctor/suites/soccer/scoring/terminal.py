"""`terminal`: what a competition pays at the end of an episode, from the recorded raw terms of the last step.

The score is the sum over the terms of a table of `value * weight`, added to 0.0 in the order of the table, with `steps`
last: the arithmetic of the official functions, to the last bit. `steps` is no recorded term: it is 1.0 for every
episode (`steps: once`, what the official functions pay) or the number of steps (`steps: count`).

A table is a preset, own weights, or a preset with some weights changed; tasks may have different ones. Terms without a
weight are ignored, as the official functions do; a weight without a recorded term is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from proctor.config.models import Frozen, ScoringCfg
from proctor.errors import InputError
from proctor.metrics.terms import PAID, PREFIX, term_of
from proctor.record.result import TrialResult
from proctor.registry import nearest
from proctor.scoring.protocol import Remark, Score, Scoring
from proctor.suites.soccer.scoring.presets import FAMILIES, PRESETS, check_preset, preset_table

STEPS = "steps"


class TerminalOptions(Frozen):
    """`scoring.options` of `terminal`."""

    preset: str | dict[str, str] | None = None
    """A table by name, `sai` for the one that goes with the name of each task, or names by task."""
    weights: dict[str, float] = Field(default_factory=dict)
    """Term -> weight, for every task; over a preset, what is changed of it."""
    task_weights: dict[str, dict[str, float]] = Field(default_factory=dict)
    """Task -> term -> weight: what is different there."""
    steps: Literal["once", "count"] = "once"
    source: Literal["terms", "evaluation_fn"] = "terms"
    """`evaluation_fn`: the score is what the task's own evaluation function paid on the last step."""
    targets: dict[str, float] = Field(default_factory=dict)
    """Metric -> what its mean should come to."""

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


class TerminalScoring(Scoring):
    """The weighted sum of the last step's terms. Unbounded, so it has no floor of its own."""

    name, version, unit, step_term = "terminal", "1", "reward", STEPS

    def __init__(self, cfg: ScoringCfg):
        super().__init__(cfg)
        self.options = _options(cfg.options)
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

    def rate(self, result: TrialResult) -> Score:
        if self.options.source == "evaluation_fn":
            return Score(self._paid(result))
        found = self.values(result)
        total, parts = 0.0, {}
        for term, weight in self.table(result.trial.task).weights.items():
            value = found[term]
            parts[term] = None if value is None else value * weight
            total = None if total is None or value is None else total + value * weight
        return Score(total, parts)

    def values(self, result: TrialResult) -> dict[str, float | None]:
        """The raw value of every weighted term, `steps` included; None where it is not finite. Raises InputError for a
        weight whose term was not recorded."""
        task, steps = result.trial.task, self.options.steps
        found: dict[str, float | None] = {}
        for term in self.table(task).weights:
            if term == STEPS:
                found[term] = 1.0 if steps == "once" else float(result.steps_total)
            elif PREFIX + term in result.metrics:
                found[term] = result.metrics[PREFIX + term]
            else:
                raise InputError(_unrecorded(term, task, _terms(result.metrics)))
        return found

    def _paid(self, result: TrialResult) -> float | None:
        if PAID not in result.metrics:
            raise InputError(
                f'the task "{result.trial.task}" recorded no {PAID}: it ran without an evaluation function. Score by '
                "weights: --set scoring.options={preset: sai}, or run again with the task's evaluation_fn"
            )
        return result.metrics[PAID]

    def reweighted(self, weights: Mapping[str, float], recorded: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        if self.options.source == "evaluation_fn":
            raise InputError(
                "the run is scored by its own evaluation function, which has no weights; score by terms: "
                '--set "scoring.options={preset: sai}"'
            )
        own = {task: dict(table) for task, table in self.options.task_weights.items()}
        for term, weight in weights.items():
            having = [task for task, names in recorded.items() if term == STEPS or PREFIX + term in names]
            if not having:
                known = sorted({STEPS, *(term for names in recorded.values() for term in _terms(names))})
                raise InputError(f'no task recorded a term "{term}"{_meant(term, known)}')
            for task in having:
                own.setdefault(task, {})[term] = weight
        return {**self.cfg.options, "task_weights": own}

    def check_tasks(self, tasks: Iterable[str]) -> None:
        tasks, options = list(tasks), self.options
        by_task = options.preset if isinstance(options.preset, dict) else {}
        for task in {**by_task, **options.task_weights}:
            if task not in tasks:
                hint = nearest(task, tasks)
                meant = f'; did you mean "{hint}"?' if hint else ""
                raise InputError(f'there are weights for "{task}", which is no task{meant} (tasks: {", ".join(tasks)})')
        if options.source == "terms":
            for task in tasks:
                self.table(task)

    def term_weights(self, task: str) -> Mapping[str, float]:
        return {} if self.options.source == "evaluation_fn" else self.table(task).weights

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "options": self.options.model_dump(mode="json")}

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
        return [*said, *self._about_steps(tables)]

    def _about_steps(self, tables: Mapping[str, Table]) -> list[Remark]:
        if self.options.steps == "once" or not any(table.preset for table in tables.values()):
            return []
        words = "The weight of steps is paid for every step (steps: count); the official functions pay it once."
        return [Remark("caution", words)]


def _unofficial(tables: Mapping[str, Table]) -> str:
    changed = []
    for task, table in tables.items():
        if table.preset is None:
            changed.append(f"{task} has weights of its own")
        else:
            pairs = ", ".join(f"{t} {table.weights[t]:g} for {_was(table.preset, t)}" for t in table.changed)
            changed.append(f"{task}: {pairs}")
    return f"These are not the official weights, and the scores not official ones: {'; '.join(changed)}."


def _was(preset: str, term: str) -> str:
    return f"{PRESETS[preset][term]:g}" if term in PRESETS[preset] else "none"


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
    hint = nearest(term, known)
    return (f'; did you mean "{hint}"?' if hint else "") + f" (recorded: {', '.join(known)})"


def _options(options: Mapping[str, Any]) -> TerminalOptions:
    try:
        found = TerminalOptions.model_validate(dict(options))
    except ValidationError as error:
        raise InputError(_problem(error)) from None
    for name in found.preset.values() if isinstance(found.preset, dict) else [found.preset]:
        if name is not None:
            check_preset(name)
    return found


def _problem(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    known = list(TerminalOptions.model_fields)
    key = ".".join(str(part) for part in first["loc"] if not re.fullmatch(r"str|dict\[.*\]", str(part)))
    if first["type"] == "extra_forbidden":
        hint = nearest(key, known)
        meant = f'did you mean "{hint}"? ' if hint else ""
        return f'the scoring terminal has no option "{key}"; {meant}(known: {", ".join(known)})'
    if not key:
        return f"the scoring terminal: {first['msg'].removeprefix('Value error, ')}"
    return f'the option "{key}" of the scoring is {first["input"]!r}: {first["msg"]}'
