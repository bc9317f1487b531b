"""The files of a goal evaluation: `goals.json`, `goals.csv`, `goals.md`, `goals.html`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from proctor.report import text
from proctor.report.draw import pipes
from proctor.report.draw.pipes import escape, table
from proctor.report.formats.files import plain, write_csv, write_json, write_text
from proctor.report.model import RateEstimate
from proctor.suites.goals.records import Records
from proctor.suites.goals.report.findings import chance_words, findings, number_words, verdict
from proctor.suites.goals.report.model import DIMENSIONS, REFERENCES, Dimension, GoalsReport, PriorReport, Reading
from proctor.suites.goals.report.page import to_html

MOST_ALIKE = 60
"""Tasks whose goals are compared with each other."""
COLUMNS = ("prior", "dimension", "task", "value", "n", "counts", "low", "high", "chance", "band", "reason")


def write_goals(folder: Path, report: GoalsReport) -> None:
    """The four files, each whole or not at all."""
    write_json(folder / "goals.json", to_json(report))
    write_csv(folder / "goals.csv", COLUMNS, (row for prior in report.priors for row in _rows(prior)))
    write_text(folder / "goals.md", to_markdown(report))
    write_text(folder / "goals.html", to_html(report))


def to_json(report: GoalsReport) -> dict[str, Any]:
    """Everything but pictures and drawings. A number that is not available is null, with its reason beside it."""
    records = report.records
    return plain(
        {
            "name": records.name,
            "generated_at": report.generated_at,
            "verdict": verdict(report),
            "findings": [asdict(finding) for finding in findings(report)],
            "level": records.goals.level,
            "tasks": {task: own.wordings for task, own in records.instructions.items()},
            "visuals": _visuals(records),
            "visual_goal_success": _rates(report.visual_rates),
            "priors": [_prior(prior) for prior in report.priors],
            "settings": records.goals.model_dump(mode="json"),
        }
    )


def _visuals(records: Records) -> dict[str, Any]:
    found, tasks = records.visuals, records.counts
    if found is None:
        return {"space": None, "reason": records.no_visuals, "tasks": tasks}
    return {"space": found.space, "encoder": found.encoder, "selection": found.selection, "tasks": tasks}


def _prior(prior: PriorReport) -> dict[str, Any]:
    answers, own = prior.answers, prior.dimensions
    means = answers.means[:MOST_ALIKE]
    return {
        "name": answers.name,
        "target": answers.target,
        "space": answers.space,
        "dimensions_of_space": answers.goals.shape[-1],
        "degenerate": prior.degenerate,
        "is_the_text_embedding": answers.is_the_text,
        "dimensions": {name: _dimension(own[name]) for name in DIMENSIONS},
        "cross_space_references": {name: _dimension(own[name]) for name in REFERENCES},
        "success": _rates(prior.rates),
        "task_similarity": {"tasks": answers.tasks[:MOST_ALIKE], "cosines": (means @ means.T).round(6)},
        "nearest": {t: [{"task": n.task, "cosine": n.cosine} for n in found] for t, found in prior.nearest.items()},
        "missing": answers.missing,
    }


def _dimension(own: Dimension) -> dict[str, Any]:
    return {
        **_reading(own.overall),
        "counts": own.counts,
        "method": own.method if own.overall.interval else None,
        "band": own.band,
        "by_task": {task: _reading(reading) for task, reading in own.by_task.items()},
    }


def _reading(reading: Reading) -> dict[str, Any]:
    return {
        "value": reading.value,
        "n": reading.n,
        "interval": reading.interval,
        "chance": reading.chance,
        "not_available_because": reading.reason,
        "no_interval_because": None if reading.interval or reading.value is None else reading.no_interval,
    }


def _rates(rates: Mapping[str, RateEstimate]) -> dict[str, Any] | None:
    if not rates:
        return None
    keys = {
        task: {"rate": rate.rate, "successes": rate.successes, "n": rate.n, "interval": rate.interval}
        for task, rate in rates.items()
    }
    return {"overall": keys.pop(""), "by_task": keys}


def _rows(prior: PriorReport) -> Iterator[list[Any]]:
    """Every number of a prior: of a dimension first the one over all tasks, which names none, then task by task."""
    for own in prior.dimensions.values():
        for task, reading in (("", own.overall), *own.by_task.items()):
            low, high = reading.interval or (None, None)
            counts, band = (None, None) if task else (own.counts, own.band)
            known = (reading.value, reading.n, counts, low, high, reading.chance)
            yield [prior.name, own.name, task, *known, band, reading.reason]


def to_markdown(report: GoalsReport) -> str:
    """Verdict, findings, and a table of all priors."""
    names, level = {**DIMENSIONS, **REFERENCES}, text.percent(report.records.goals.level)
    rows = [[_named(prior), *(_beside_chance(prior.dimensions[name]) for name in names)] for prior in report.ranked()]
    blocks = [
        f"# {escape(report.records.name)}: goals",
        f"**{escape(verdict(report))}**",
        pipes.findings(findings(report), "`goals.html`"),
        table(["prior", *(title.lower() for title in names.values())], rows),
        f"Numbers in brackets are {level} intervals; chance is what goals get that have nothing to do with the task. "
        "Cross-space numbers are for reference only.",
        f"<sub>{escape(report.generated_at)}</sub>",
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _named(prior: PriorReport) -> str:
    return escape(f"{prior.name} ({prior.flag})" if prior.flag else prior.name)


def _beside_chance(own: Dimension) -> str:
    return ", ".join(words for words in (number_words(own), chance_words(own.overall)) if words)
