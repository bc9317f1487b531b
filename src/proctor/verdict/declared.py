"""A declared protocol: its hash, and in what a run deviates from it.

A declaration is worth something if it was made before the results were known, and if nobody can change it unseen. So
its hash is in every report, a ledger notes what was declared when the run began and every change since, and whatever
was done otherwise is listed. Nothing is refused: a deviation with a reason is no fault, an unseen one is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypedDict

from proctor.config.models import DeclareCfg, EvalConfig
from proctor.plan.resume import differences
from proctor.texts import count

SHORT = 16
"""Characters of a hash that are shown to people."""


class Noted(TypedDict):
    """What a ledger notes of a run's protocol, with the number of trials that were `done` at the time."""

    declare: dict[str, Any] | None
    scoring: dict[str, Any]
    n_trials: dict[str, int]
    groups: dict[str, str]
    done: int


@dataclass(frozen=True, slots=True)
class Facts:
    """What a declaration is held against. `cells`: (agent, task, finished trials, unscored ones); `by`: what agents are
    ranked by. `missing`: whether planned trials have not run, those aside that `stop_when` made unnecessary.
    `measured`: whether any agent has a number for what was declared to decide."""

    level: float
    by: str
    cells: Sequence[tuple[str, str, int, int]]
    missing: bool
    measured: bool


@dataclass(frozen=True, slots=True)
class Declared:
    """`hash` is the SHA-256 of the declaration as canonical JSON; `deviations` are clauses, none of them empty."""

    declare: Mapping[str, Any]
    hash: str
    deviations: tuple[str, ...]


def canonical(declare: DeclareCfg | Mapping[str, Any]) -> str:
    """The declaration as JSON with sorted keys and no spaces."""
    data = declare.model_dump(mode="json") if isinstance(declare, DeclareCfg) else dict(declare)
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def hash_of(declare: DeclareCfg | Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(declare).encode()).hexdigest()


def noted(cfg: EvalConfig, done: int) -> Noted:
    """The protocol of a config, as a ledger notes it."""
    return {
        "declare": None if cfg.declare is None else cfg.declare.model_dump(mode="json"),
        "scoring": cfg.scoring.model_dump(mode="json"),
        "n_trials": {task.name: cfg.trials_of(task) for task in cfg.tasks},
        "groups": {agent.name: agent.group for agent in cfg.agents if agent.group is not None},
        "done": done,
    }


def held_against(cfg: EvalConfig, facts: Facts, history: Sequence[Noted] | None) -> Declared | None:
    """The declaration of a config, and everything in which the run deviates from it; None where none is declared.
    `history`: what the ledger noted, in the order of time; None where that is not known."""
    declare = cfg.declare
    if declare is None:
        return None
    found = [*_trials(cfg, declare, facts), *_rates(cfg, declare, facts), *_primary(cfg, declare, facts)]
    if history is not None:
        found += _changes(cfg, history)
    return Declared(declare.model_dump(mode="json"), hash_of(declare), tuple(found))


def _trials(cfg: EvalConfig, declare: DeclareCfg, facts: Facts) -> Iterator[str]:
    for task in cfg.tasks:
        planned = cfg.trials_of(task)
        if planned != declare.n:
            yield f"{planned:,} trials of each agent are planned on {task.name}, and n was declared as {declare.n:,}"
    for agent, task, finished, unscored in facts.cells:
        planned = cfg.trials_of(cfg.task(task))
        if facts.missing and finished < planned:
            yield f"only {finished:,} of {planned:,} trials of {agent} on {task} are finished"
        if unscored:
            yield f"{count(unscored, 'trial')} of {agent} on {task} {'is' if unscored == 1 else 'are'} unscored"


def _rates(cfg: EvalConfig, declare: DeclareCfg, facts: Facts) -> Iterator[str]:
    if abs(1 - facts.level - declare.alpha) > 1e-9:
        yield f"tests have the error rate {1 - facts.level:.3g}, and alpha was declared as {declare.alpha:g}"
    if cfg.stop_when is not None and cfg.stop_when.alpha != declare.alpha:
        yield f"stop_when has alpha {cfg.stop_when.alpha:g}, and alpha was declared as {declare.alpha:g}"


def _primary(cfg: EvalConfig, declare: DeclareCfg, facts: Facts) -> Iterator[str]:
    by_success = facts.by == "success" or cfg.scoring.mode == "success"
    if declare.primary != facts.by and not (declare.primary == "success" and by_success):
        scoring = f" ({cfg.scoring.mode})" if facts.by == "score" else ""
        yield f"agents are ranked by {facts.by}{scoring}, and {declare.primary} was declared as what decides"
    if not facts.measured:
        yield f"no agent has a number for {declare.primary}, which was declared as what decides"


def _changes(cfg: EvalConfig, history: Sequence[Noted]) -> Iterator[str]:
    """What was declared late, and what was changed since the start; a config that was edited by hand, too."""
    declared = [each for each in history if each["declare"] is not None]
    if not declared:
        yield "the run has no note that anything was declared when it began"
    elif declared[0]["done"]:
        yield f"it was declared after {count(declared[0]['done'], 'trial')} had finished"
    now = noted(cfg, history[-1]["done"] if history else 0)
    for before, after in pairwise([*history, now]):
        when = f"after {count(after['done'], 'trial')} had finished"
        old, new = before["declare"], after["declare"]
        if old is not None and old != new:
            became = "nothing" if new is None else hash_of(new)[:SHORT]
            yield f"the declaration was changed {when}, from {hash_of(old)[:SHORT]} to {became}"
        for key, a, b in differences(before["scoring"], after["scoring"]):
            yield f"the scoring was changed {when}: {key} from {a} to {b}"
        for task, a, b in differences(before["n_trials"], after["n_trials"]):
            yield f"the number of trials on {task} was changed {when}, from {a} to {b}"
        if before["groups"] != after["groups"]:
            yield f"the groups of agents were changed {when}"
