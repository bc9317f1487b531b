"""A run on one page, as plain data: how far it is, what came of it so far, how it goes.

Numbers are those of the report (`proctor.report.build`), computed of the trials that are done now.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.record.columns import SCORED
from proctor.record.errors import decisive_line
from proctor.record.latest import MADE_AT
from proctor.report import text
from proctor.report.build.estimates import Estimator
from proctor.report.build.sample import Sample, causes, sample_of
from proctor.report.model import MeanEstimate, RateEstimate, ReportContext
from proctor.report.sections.timing import batch_keys, shares
from proctor.runs.report import LEVEL
from proctor.stats import Interval
from proctor.view.snapshot import Snapshot, fresh_report
from proctor.view.states import last_sign, pulse_of, state_of

FAULTS, CAUSES = 8, 12


def brief(snapshot: Snapshot) -> dict[str, Any]:
    """A run as a row of the table of runs."""
    cfg, trials = snapshot.cfg, snapshot.trials
    planned = snapshot.read(lambda ledger: ledger.counts()[0])
    made = _made_at(snapshot)
    best = _best(snapshot)
    return {
        "name": cfg.name,
        "agents": [agent.name for agent in cfg.agents],
        "tasks": [task.name for task in cfg.tasks],
        "planned": planned,
        "done": trials.n,
        "unscored": int((~SCORED[trials["outcome"]]).sum()),
        "filmed": sum(video is not None for video in trials["video"]),
        "made_at": made,
        "seconds": snapshot.read(lambda ledger: ledger.get_meta("seconds")),
        "scoring": cfg.scoring.mode,
        "best": best,
        "cautions": _cautions(snapshot),
        **state_of(snapshot.path, planned, trials.n, _spared(snapshot, planned)),
    }


def whole(snapshot: Snapshot) -> dict[str, Any]:
    """Everything that the page of a run shows but its verdict."""
    cfg, trials = snapshot.cfg, snapshot.trials
    planned = snapshot.read(lambda ledger: ledger.planned())
    estimator = estimator_of(snapshot)
    n_faults, faults = snapshot.read(lambda ledger: ledger.broken_attempts(FAULTS))
    cells = {pair: sample_of(trials, [pair]) for pair in trials.pairs}
    agents = {agent.name: sample_of(trials, [(agent.name, task.name) for task in cfg.tasks]) for agent in cfg.agents}
    return {
        **brief(snapshot),
        "path": str(snapshot.path),
        "level": LEVEL,
        "scored": snapshot.scored,
        "scoring_unit": snapshot.scoring.unit if snapshot.scored else "",
        "record": cfg.record.model_dump(mode="json"),
        "num_parallel": cfg.num_parallel,
        "about_agents": [
            {"name": a.name, "policy": a.policy, "checkpoint": a.checkpoint, "group": a.group} for a in cfg.agents
        ],
        "about_tasks": [
            {"name": t.name, "suite": t.suite, "without_success": t.name in trials.without_success} for t in cfg.tasks
        ],
        "by_agent": _ranked(
            [
                {"agent": name, **_estimates(estimator, own, snapshot, sum(planned.get(pair, 0) for pair in own.pairs))}
                for name, own in agents.items()
            ]
        ),
        "by_cell": [
            {"agent": pair[0], "task": pair[1], **_estimates(estimator, own, snapshot, planned.get(pair, 0))}
            for pair, own in cells.items()
        ],
        "faults": {"n": n_faults, "last": [{"key": k, "done": d, "text": decisive_line(t)} for k, d, t in faults]},
        "causes": [
            {"agent": c.agent, "outcome": c.outcome, "message": c.message, "count": c.count, "example": c.example}
            for c in causes(trials)[:CAUSES]
        ],
        **_going(snapshot),
    }


def estimator_of(snapshot: Snapshot) -> Estimator:
    """What makes estimates as the run's report does."""
    declared = snapshot.cfg.declare
    context = ReportContext("", level=LEVEL if declared is None else round(1 - declared.alpha, 12))
    return Estimator(snapshot.cfg, context, snapshot.scoring, {})


def _estimates(estimator: Estimator, own: Sample, snapshot: Snapshot, planned: int) -> dict[str, Any]:
    rate = estimator.success(own)
    return {
        "planned": planned,
        "done": len(own.kept) + own.n_repeats + own.n_after_stop,
        "n": len(own.scored),
        "unscored": len(own.kept) - len(own.scored),
        "success": rate_keys(rate),
        "score": mean_keys(estimator.score(own)) if snapshot.scored else None,
    }


def _ranked(agents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With texts that show the order, as the report has them."""
    rates = [agent["success"] for agent in agents if agent["success"] is not None]
    means = [agent["score"] for agent in agents if agent["score"] is not None]
    intervals = [None if mean["interval"] is None else Interval(*mean["interval"]) for mean in means]
    written = text.ranked_rates([rate["value"] for rate in rates])
    written += text.ranked_means([mean["value"] for mean in means], intervals)
    for one, words in zip([*rates, *means], written, strict=True):
        one["text"] = words
    return agents


def rate_keys(rate: RateEstimate) -> dict[str, Any] | None:
    """`text` and `range` are written as the report writes them. None where nothing says what success is."""
    if not rate.n:
        return None
    interval = None if rate.interval is None else [rate.interval.low, rate.interval.high]
    words = {"text": text.percent(rate.rate), "range": text.percent_range(rate.interval)}
    return {"successes": rate.successes, "n": rate.n, "value": rate.rate, "interval": interval, **words}


def mean_keys(found: MeanEstimate) -> dict[str, Any] | None:
    if found.mean is None:
        return None
    interval = None if found.interval is None else [found.interval.low, found.interval.high]
    words = {"text": text.fixed(found.mean, found.interval), "range": text.span(found.interval)}
    return {"n": found.n, "value": found.mean, "interval": interval, **words}


def _best(snapshot: Snapshot) -> dict[str, Any] | None:
    """The agent with the best mean score, or rate where the score is not known, or how many share it; no test stands
    behind it."""
    trials, found = snapshot.trials, []
    score = trials["score"] if snapshot.scored else trials["success"].astype(float)
    owner = np.array([snapshot.cfg.agents.index(snapshot.cfg.agent(agent)) for agent, _ in trials.pairs], np.int64)
    for place, agent in enumerate(snapshot.cfg.agents):
        rows = (owner[trials["cell"]] == place) & SCORED[trials["outcome"]] & ~trials["after_stop"]
        values = score[rows]
        if len(values) and not np.isnan(values).any():
            found.append((float(values.mean()), agent.name))
    if not found:
        return None
    value = max(mean for mean, _ in found)
    first = [agent for mean, agent in found if mean == value]
    agent = first[0] if len(first) == 1 else f"{len(first)} agents alike"
    kind = "score" if snapshot.scored and snapshot.cfg.scoring.mode != "success" else "success"
    words = text.percent(value) if kind == "success" else text.number(value)
    return {"agent": agent, "value": value, "kind": kind, "text": words}


def _going(snapshot: Snapshot) -> dict[str, Any]:
    """How it goes: from what the run says while it goes on, or from its ledger where it has ended."""
    pulse = pulse_of(snapshot.path)
    ledger: Mapping[str, Any] = {
        name: snapshot.read(lambda ledger, name=name: ledger.get_meta(name)) for name in ("batching", "spent")
    }
    spent = pulse.get("spent") if pulse else ledger["spent"]
    batching = pulse.get("batching") if pulse else ledger["batching"]
    return {
        "pulse": pulse,
        "last_sign": last_sign(snapshot.path),
        "time": _numbers(lambda: shares(spent)),
        "batch": _numbers(lambda: batch_keys(batching)),
    }


def _numbers(make: Any) -> Any:
    """What a file of the run says, where it says it rightly."""
    try:
        return make()
    except (TypeError, KeyError, ValueError, AttributeError, ZeroDivisionError):
        return None


def _spared(snapshot: Snapshot, planned: int) -> int:
    """Trials that a `stop_when` made unnecessary: where the run has ended by itself, all that are left."""
    return planned - snapshot.trials.n if snapshot.cfg.stop_when is not None else 0


def _cautions(snapshot: Snapshot) -> int | None:
    """How many things must be known before the numbers are used; None where the run has no report that is up to
    date."""
    found = fresh_report(snapshot)
    findings = [] if found is None else found.get("findings", [])
    known = isinstance(findings, list) and found is not None
    return sum(isinstance(one, dict) and one.get("level") == "caution" for one in findings) if known else None


def _made_at(snapshot: Snapshot) -> float | None:
    """When the run was begun, as seconds since 1970."""
    try:
        return datetime.fromisoformat(snapshot.read(lambda ledger: ledger.get_meta(MADE_AT))).timestamp()
    except (TypeError, ValueError, InputError):
        return None
