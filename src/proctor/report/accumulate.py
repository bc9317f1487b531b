"""Results in, compact columns out: one pass, a few numbers per trial, never the rows themselves."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from proctor.config.models import EvalConfig
from proctor.errors import InputError
from proctor.record.result import TrialResult
from proctor.report.model import Cause, Mark
from proctor.scoring import Score, Scoring

MARKS_IN_ALL, MARKS_PER_CELL, MARKS_AT_LEAST = 6000, 200, 20
MAX_CAUSES = 200
NAN = math.nan


def _doubles() -> array[float]:
    return array("d")


class CaseTrial(NamedTuple):
    """A scored trial that names its case: its row in the columns, and what they do not hold."""

    row: int
    success: bool
    npz: str | None


@dataclass(slots=True)
class CellColumns:
    """The scored trials of one (agent, task) as columns; NaN where a trial has no such value."""

    agent: str
    task: str
    marks_cap: int
    successes: int = 0
    n_trials: int = 0
    max_steps: int | None = None
    score: array[float] = field(default_factory=_doubles)
    steps_total: array[float] = field(default_factory=_doubles)
    steps_to_success: array[float] = field(default_factory=_doubles)
    wall_time_s: array[float] = field(default_factory=_doubles)
    components: dict[str, array[float]] = field(default_factory=dict)
    metrics: dict[str, array[float]] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    traces: array[int] = field(default_factory=lambda: array("Q"))
    indices: array[int] = field(default_factory=lambda: array("q"))
    """Of the scored trials; `won` and `prints` go with them."""
    won: array[int] = field(default_factory=lambda: array("b"))
    prints: array[int] = field(default_factory=lambda: array("Q"))
    """The beginning of the trace; 0 where there is none, or the policy broke the trial."""
    unscored: array[int] = field(default_factory=lambda: array("q"))
    """Indices of the trials that the infrastructure broke."""
    clipped_steps: int = 0
    clipped_trials: int = 0
    retried_trials: int = 0
    after_stop: int = 0
    marks: list[Mark] = field(default_factory=list)
    cases: dict[str, list[CaseTrial]] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return len(self.score)

    def add(self, result: TrialResult, score: Score) -> None:
        """Take in a trial; one that came after the stop is counted and enters nothing else."""
        if result.after_stop:
            self.after_stop += 1
            return
        self.n_trials += 1
        self.max_steps = max(self.max_steps or 0, result.max_steps)
        self.outcomes[result.outcome.value] += 1
        self.retried_trials += result.attempts > 1
        if len(self.marks) < self.marks_cap:
            self.marks.append(_mark(result, score))
        if result.outcome.scored:
            self._add_scored(result, score)
        else:
            self.unscored.append(result.trial.index)

    def _add_scored(self, result: TrialResult, score: Score) -> None:
        if result.case is not None:
            self.cases.setdefault(result.case, []).append(CaseTrial(self.n, result.success, result.npz))
        self._open_columns(self.components, score.components)
        self._open_columns(self.metrics, result.metrics)
        self.score.append(_number(score.total))
        self.successes += result.success
        self.steps_total.append(result.steps_total)
        reached = result.steps_to_success if result.success else None
        self.steps_to_success.append(NAN if reached is None else reached)
        self.wall_time_s.append(result.wall_time_s)
        for name, column in self.components.items():
            column.append(_number(score.components.get(name)))
        for name, column in self.metrics.items():
            column.append(_number(result.metrics.get(name)))
        self.clipped_steps += result.clipped_steps
        self.clipped_trials += result.clipped_steps > 0
        self.indices.append(result.trial.index)
        self.won.append(result.success)
        told = result.trace is not None and not result.outcome.broken_by_policy
        self.prints.append(int(result.trace[:16], 16) if told and result.trace else 0)
        if told:
            self.traces.append(self.prints[-1])

    def _open_columns(self, columns: dict[str, array[float]], names: Iterable[str]) -> None:
        for name in names:
            if name not in columns:
                columns[name] = array("d", [NAN]) * self.n


def _mark(result: TrialResult, score: Score) -> Mark:
    return Mark(
        index=result.trial.index,
        seed=result.trial.seed,
        outcome=result.outcome.value,
        steps=result.steps_total,
        score=score.total,
        npz=result.npz,
        video=result.video,
    )


def _number(value: float | None) -> float:
    return NAN if value is None else value


class Columns:
    """All cells of a run, in the order of the config, and what broke trials."""

    def __init__(self, cfg: EvalConfig):
        pairs = [(agent.name, task.name) for agent in cfg.agents for task in cfg.tasks]
        cap = min(MARKS_PER_CELL, max(MARKS_AT_LEAST, MARKS_IN_ALL // len(pairs)))
        self.cells = {pair: CellColumns(*pair, marks_cap=cap) for pair in pairs}
        self._causes: dict[tuple[str, str, str], list[int | str]] = {}

    def fill(self, results: Iterable[TrialResult], scoring: Scoring) -> None:
        for result in results:
            pair = (result.trial.agent, result.trial.task)
            if pair not in self.cells:
                raise InputError(f"trial {result.trial.key} belongs to no agent and task of the config")
            self.cells[pair].add(result, scoring.score(result))
            if not result.after_stop and (result.outcome.broken_by_policy or not result.outcome.scored):
                self._count_cause(result)

    def _count_cause(self, result: TrialResult) -> None:
        message = first_line(result.error) or "no message"
        key = (result.trial.agent, result.outcome.value, message)
        if key not in self._causes and len(self._causes) >= MAX_CAUSES:
            key = (result.trial.agent, result.outcome.value, "other messages")
        entry = self._causes.setdefault(key, [0, result.trial.key])
        entry[0] = int(entry[0]) + 1

    def causes(self) -> tuple[Cause, ...]:
        """Most frequent first, ties by name."""
        found = [Cause(*key, count=int(count), example=str(trial)) for key, (count, trial) in self._causes.items()]
        return tuple(sorted(found, key=lambda c: (-c.count, c.agent, c.outcome, c.message)))


def first_line(text: str | None) -> str:
    """The first line of an error, cut to what fits a table."""
    line = next((line.strip() for line in (text or "").splitlines() if line.strip()), "")
    return line if len(line) <= 200 else line[:199] + "…"
