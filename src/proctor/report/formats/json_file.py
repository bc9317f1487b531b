"""`report.json`: the report for programs. Valid JSON: null where there is no number, never NaN."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

from proctor.record.columns import Trials
from proctor.report.build.stops import stop_keys
from proctor.report.compare.page import comparison_keys
from proctor.report.formats.base import Format
from proctor.report.formats.files import plain, write_json
from proctor.report.formats.tables import agent_keys
from proctor.report.model import AgentReport, Report, Summary
from proctor.report.sections import timing


class JsonFormat(Format):
    """`report.json`."""

    name = "json"

    def write(self, folder: Path, report: Report, trials: Trials) -> list[str]:
        write_json(folder / "report.json", to_json(report))
        return ["report.json"]


def to_json(report: Report) -> dict[str, Any]:
    """The report as plain data, with the keys that other programs know first."""
    context = report.context
    data = {
        "name": report.name,
        "generated_at": context.generated_at,
        "scoring": {
            "name": report.scoring.name,
            "version": report.scoring.version,
            "components": list(report.scoring.components),
            "effective_floor": report.scoring.floor,
            "unit": report.scoring.unit,
            **report.scoring.settings,
        },
        "n_trials": report.n_trials,
        "agents": [_agent(report, agent) for agent in report.agents],
        "summary_csv": "summary.csv",
        "trials_dir": "trials",
        "verdict": report.verdict,
        "findings": [asdict(finding) for finding in report.findings],
        "trials": {"planned": report.planned, "finished": report.finished, "scored": report.scored},
        "tasks": [asdict(task) for task in report.tasks],
        "metrics": [info._asdict() for info in report.metrics],
        "causes": [asdict(cause) for cause in report.causes],
        "intervals": {
            "level": context.level,
            "success_rate": "wilson",
            "score": f"BCa bootstrap, stratified by task, {context.n_resamples} resamples",
            "other_means": "student_t",
            "std": "sample (n - 1)",
        },
        "seconds": context.duration_s,
        "batch": timing.batch_keys(context.batch),
        "time": timing.time_keys(context.spent),
        "environment": context.environment,
        "config": report.config,
        **_optional_keys(report),
        **stop_keys(report),
    }
    return plain({**data, **_section_keys(report, data)})


def _section_keys(report: Report, taken: Collection[str]) -> dict[str, Any]:
    """The keys of the sections, and which sections failed at theirs."""
    found: dict[str, Any] = {}
    failed: dict[str, str] = {}
    for shown in report.sections:
        keys, problem = shown.made(lambda shown=shown: dict(shown.section.keys(report, shown.data)))
        twice = sorted(key for key in keys or () if key in taken or key in found)
        if twice:
            keys, problem = None, f"the report has these keys already: {', '.join(twice)}"
        if problem is not None:
            failed[shown.section.key] = problem
        found |= keys or {}
    return found | ({"failed_sections": failed} if failed else {})


def _agent(report: Report, agent: AgentReport) -> dict[str, Any]:
    return {
        **agent_keys(report, agent),
        "policy": agent.policy,
        "rank": agent.rank,
        **_summary(agent.overall),
        "tasks": [{"task": cell.task, **_summary(cell.summary)} for cell in agent.cells],
    }


def _summary(summary: Summary) -> dict[str, Any]:
    keys = asdict(summary)
    del keys["n_after_stop"]
    first = {"planned": summary.planned, "finished": keys.pop("n_trials"), "n": summary.n}
    return {**first, "n_unscored": summary.n_unscored, **keys}


def _optional_keys(report: Report) -> dict[str, Any]:
    """Targets, cases, the comparison, profiles and curves, for runs that have them; no keys for others."""
    profiles = [(p.agent, p.profile) for p in report.profiles]
    keys: dict[str, Any] = {
        "targets": [asdict(result) for result in report.targets],
        "cases": [
            {"agent": t.agent, "task": t.task, "worst_first_by": t.order, "cases": [asdict(case) for case in t.cases]}
            for t in report.cases
        ],
        "comparison": None if report.comparison is None else comparison_keys(report.comparison),
        "profiles": [
            {"agent": agent, "n": p.n, "thresholds": p.thresholds, "shares": p.shares, "low": p.low, "high": p.high}
            for agent, p in profiles
        ],
        "trainings": [asdict(training) for training in report.trainings],
        "extremes": [asdict(trial) for trial in report.extremes],
    }
    return {key: value for key, value in keys.items() if value}
