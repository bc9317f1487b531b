"""Scoring a run again, from its records alone: no simulator and no model is needed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

from proctor import metrics
from proctor.config import EvalConfig, apply_overrides, scoring_from_dict
from proctor.config.code import scoring_code
from proctor.errors import InputError
from proctor.record.columns import read_trials
from proctor.record.ledger import Ledger
from proctor.record.result import TrialResult
from proctor.record.rundir import RunDir
from proctor.record.trust import remember
from proctor.report import Report
from proctor.runs.noting import note_protocol
from proctor.runs.report import write_report
from proctor.scoring import make_scoring

BATCH = 256


def score(
    path: str | Path,
    overrides: Sequence[str] = (),
    weights: Mapping[str, float] | None = None,
    *,
    trust: bool = False,
) -> Report:
    """Compute metrics, scores and reports again from the records alone. Overrides may change `scoring` only; `weights`
    are those of terms, for a scoring that adds up terms, on every task that recorded them. Code that the overrides name
    is trusted; code that the run itself names must be (`proctor.record.trust`), unless `trust`."""
    run = RunDir.open(path, trust=trust)
    old = run.plain_config()
    cfg = _rescored(old, overrides)
    known = {code.target for code in scoring_code(old)}
    remember(code for code in scoring_code(cfg) if code.target not in known)
    run.require_trust(scoring_code(cfg))
    with run.locked():
        with run.ledger() as ledger:
            recorded = (r for r in run.results() if r.npz is not None)
            while batch := [(r.trial, _recomputed(run, r, cfg)) for r in itertools.islice(recorded, BATCH)]:
                ledger.set_metrics(batch)
            if weights:
                cfg = _reweighted(cfg, weights, ledger)
            _check_scoring(cfg, ledger)
            note_protocol(ledger, cfg)
        run.write_config(cfg)
        return write_report(run)


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


def _recomputed(run: RunDir, result: TrialResult, cfg: EvalConfig) -> dict[str, float | None]:
    episode = run.episode(result)
    if result.digest is not None and episode.digest() != result.digest:
        raise InputError(
            f"the record {run.path}/{result.npz} has been changed since it was written; restore it, or run again"
        )
    return metrics.compute(episode, cfg.scoring.metrics)
