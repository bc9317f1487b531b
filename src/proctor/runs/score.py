"""Scoring a run again, from its records alone: no simulator and no model is needed.

What the ledger says of a trial (how it ended, its steps, success and reward) is made again from its recorded arrays.
Two things are in no array and are taken from the ledger: that the policy broke a trial which has not ended by itself,
and that nothing says what success is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from proctor import metrics
from proctor.config import EvalConfig, apply_overrides, scoring_from_dict
from proctor.config.code import scoring_code
from proctor.errors import InputError
from proctor.record.columns import read_trials
from proctor.record.ledger import Ledger
from proctor.record.records import Found
from proctor.record.rundir import RunDir
from proctor.record.trust import remember
from proctor.report import Report
from proctor.report.text import count
from proctor.runs.noting import note_protocol
from proctor.runs.report import CORRECTED, write_report
from proctor.scoring import make_scoring
from proctor.threads import cores
from proctor_host.episode import Episode, Outcome
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

MOST_TRIALS, MOST_BYTES = 256, 1 << 28
"""Of the records that are in memory together."""
READ_AHEAD = 2
"""Records that are read together, for each core."""

_Recorded = tuple[TrialResult, Episode]


class Scored(NamedTuple):
    """`corrected`: trials of which the ledger said something else than their records, and what."""

    report: Report
    corrected: list[tuple[Trial, str]]


def score(
    path: str | Path,
    overrides: Sequence[str] = (),
    weights: Mapping[str, float] | None = None,
    *,
    trust: bool = False,
) -> Scored:
    """Compute outcomes, metrics, scores and reports again from the records alone. Overrides may change `scoring` only;
    `weights` are those of terms, for a scoring that adds up terms, on every task that recorded them. Code that the
    overrides name is trusted; code that the run itself names must be (`proctor.record.trust`), unless `trust`. A ledger
    that says something else than its records is corrected, and the report says so from then on."""
    run = RunDir.open(path, trust=trust)
    old = run.plain_config()
    cfg = _rescored(old, overrides)
    known = {code.target for code in scoring_code(old)}
    remember(code for code in scoring_code(cfg) if code.target not in known)
    run.require_trust(scoring_code(cfg))
    with run.locked():
        with run.ledger() as ledger:
            corrected = _recompute(run, ledger, cfg)
            if weights:
                cfg = _reweighted(cfg, weights, ledger)
            _check_scoring(cfg, ledger)
            note_protocol(ledger, cfg)
        run.write_config(cfg)
        return Scored(write_report(run), corrected)


def _recompute(run: RunDir, ledger: Ledger, cfg: EvalConfig) -> list[tuple[Trial, str]]:
    """Everything that follows from the records, into the ledger; what was otherwise there."""
    rules = {task.name: task.success_rule for task in cfg.tasks}
    corrected: list[tuple[Trial, str]] = []
    for batch in _read(run):
        found = _recomputed(batch, cfg, rules)
        ledger.set_metrics((new.trial, new.metrics) for new in found)
        pairs = zip(batch, found, strict=True)
        differing = [(new, what) for (old, _), new in pairs if (what := differences(old, new))]
        if differing:
            ledger.finish(new for new, _ in differing)
            corrected += [(new.trial, what) for new, what in differing]
    if corrected:
        said = (
            f"The ledger said something else than the records of {count(len(corrected), 'trial')}, and was corrected: "
            f"{Found(corrected)}."
        )
        ledger.set_meta(CORRECTED, [*ledger.get_meta(CORRECTED, []), said])
    return corrected


def _check_scoring(cfg: EvalConfig, ledger: Ledger) -> None:
    """Raise what the scoring says of the tasks and of the first trial of each, before it takes the old one's place."""
    scoring = make_scoring(cfg.scoring)
    scoring.check_tasks(task.name for task in cfg.tasks)
    left = {task.name for task in cfg.tasks}
    for result in ledger.results():
        if not left:
            return
        if result.trial.task in left and result.outcome.scored and not result.outcome.broken_by_policy:
            scoring.score(result)
            left.remove(result.trial.task)


def _reweighted(cfg: EvalConfig, weights: Mapping[str, float], ledger: Ledger) -> EvalConfig:
    recorded: dict[str, set[str]] = {task.name: set() for task in cfg.tasks}
    trials = read_trials([(agent.name, task.name) for agent in cfg.agents for task in cfg.tasks], ledger.batches())
    for (_, task), names in zip(trials.pairs, trials.cell_metrics, strict=True):
        recorded[task] |= names
    options = make_scoring(cfg.scoring).reweighted(weights, {task: sorted(names) for task, names in recorded.items()})
    return cfg.model_copy(update={"scoring": cfg.scoring.model_copy(update={"options": options})})


def _rescored(cfg: EvalConfig, overrides: Sequence[str]) -> EvalConfig:
    """The config with another scoring, whose options begin anew. The files of agents and tasks need not be there any
    more."""
    before = cfg.model_dump(mode="json")
    after = apply_overrides(before, overrides)
    if isinstance(after["scoring"], dict) and after["scoring"].get("mode") != cfg.scoring.mode:
        after = apply_overrides({**before, "scoring": {**before["scoring"], "options": {}}}, overrides)
    if {**after, "scoring": None} != {**before, "scoring": None}:
        raise InputError("proctor score changes the scoring only: --set scoring.KEY=VALUE")
    return cfg.model_copy(update={"scoring": scoring_from_dict(after["scoring"])})


def _read(run: RunDir) -> Iterator[list[_Recorded]]:
    """Every trial that has a record, with it, in portions that fit into memory."""
    recorded = (result for result in run.results() if result.npz is not None)
    some: list[_Recorded] = []
    held = 0
    with ThreadPoolExecutor(cores()) as readers:
        while ahead := list(itertools.islice(recorded, READ_AHEAD * cores())):
            for result, episode in zip(ahead, readers.map(partial(_record, run), ahead), strict=True):
                some.append((result, episode))
                held += episode.nbytes
            if len(some) >= MOST_TRIALS or held >= MOST_BYTES:
                yield some
                some, held = [], 0
    if some:
        yield some


def _record(run: RunDir, result: TrialResult) -> Episode:
    episode = run.episode(result)
    if result.digest is not None and episode.digest() != result.digest:
        raise InputError(
            f"the record {run.path}/{result.npz} has been changed since it was written; restore it, or run again"
        )
    return episode


def _recomputed(batch: Sequence[_Recorded], cfg: EvalConfig, rules: Mapping[str, str]) -> list[TrialResult]:
    """The results as their records have them, with their metrics."""
    again = [recomputed(result, episode, rules[result.trial.task]) for result, episode in batch]
    episodes = [episode.ending(new.outcome) for new, (_, episode) in zip(again, batch, strict=True)]
    values = metrics.compute_many(episodes, cfg.scoring.metrics)
    return [replace(new, metrics=own) for new, own in zip(again, values, strict=True)]


FIELDS = ("outcome", "success", "steps_total", "steps_to_success", "first_success", "episode_reward", "case")
"""Of a result, what follows from its record."""


def recomputed(result: TrialResult, episode: Episode, success_rule: str) -> TrialResult:
    """The result as its record has it, by the success rule of its task."""
    reached = episode.reached(success_rule)
    reward = episode.total_reward
    outcome, success = result.outcome, result.success
    if outcome.broken_by_policy and not _ended(episode):
        reached, success = None, False if success else success
    elif episode.succeeded(success_rule):
        outcome, success = Outcome.SUCCESS, True
    elif outcome is not Outcome.DONE or success is not None:
        outcome, success = _missed(result, episode), False
    return replace(
        result,
        outcome=outcome,
        success=success,
        steps_total=episode.n_steps,
        steps_to_success=reached,
        first_success=episode.first_success,
        episode_reward=None if reward is None or math.isnan(reward) else reward,
        case=episode.case,
    )


def differences(ledger: TrialResult, record: TrialResult) -> str:
    """In what a ledger's result differs from the one that its record gives, in words; empty where it does not."""
    pairs = [(name, getattr(ledger, name), getattr(record, name)) for name in FIELDS]
    return ", ".join(f"{name} was {_shown(old)} and is {_shown(new)}" for name, old, new in pairs if old != new)


def _ended(episode: Episode) -> bool:
    """Whether the environment, or the step limit, ended it."""
    return episode.n_steps > 0 and bool(episode.arrays["terminals"][-1] or episode.arrays["truncations"][-1])


def _missed(result: TrialResult, episode: Episode) -> Outcome:
    """How a trial without success ended. Where nothing in it said what success is, and other trials of its task did,
    the ledger goes by the number of steps (`Ledger.settle_success`), and that is left as it is."""
    by_limit = Outcome.TRUNCATED if episode.n_steps >= episode.max_steps else Outcome.FAILURE
    only_time = episode.n_steps > 0 and episode.arrays["truncations"][-1] and not episode.arrays["terminals"][-1]
    by_flags = Outcome.TRUNCATED if only_time else Outcome.FAILURE
    return result.outcome if result.outcome in (by_limit, by_flags) else by_flags


def _shown(value: object) -> str:
    return "none" if value is None else str(value)
