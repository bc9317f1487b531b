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
from proctor.suites.goals.report.findings import findings, number_words, verdict
from proctor.suites.goals.report.model import DIMENSIONS, REFERENCES, Dimension, GoalsReport, PriorReport, Rate, Reading
from proctor.suites.goals.report.page import to_html

COLUMNS = ("prior", "dimension", "task", "value", "n", "counts", "low", "high", "band", "reason")


def write_goals(folder: Path, report: GoalsReport) -> None:
    """The four files, each whole or not at all."""
    write_json(folder / "goals.json", to_json(report))
    dimensions = [
        (prior.name, own) for prior in report.priors for own in (*prior.dimensions.values(), *prior.references.values())
    ]
    write_csv(folder / "goals.csv", COLUMNS, (row for name, own in dimensions for row in _rows(name, own)))
    write_text(folder / "goals.md", to_markdown(report))
    write_text(folder / "goals.html", to_html(report))


def to_json(report: GoalsReport) -> dict[str, Any]:
    """Everything but pictures and drawings. A number that is not available is null, with its reason beside it."""
    return plain(
        {
            "name": report.name,
            "generated_at": report.generated_at,
            "verdict": verdict(report),
            "findings": [asdict(finding) for finding in findings(report)],
            "level": report.level,
            "tasks": {task: list(words) for task, words in report.instructions.items()},
            "visuals": report.visuals,
            "visual_goal_success": _rates(report.visual_rates),
            "priors": [_prior(prior) for prior in report.priors],
            "settings": report.settings,
        }
    )


def _prior(prior: PriorReport) -> dict[str, Any]:
    return {
        "name": prior.name,
        "target": prior.target,
        "space": prior.space,
        "dimensions_of_space": prior.dim,
        "degenerate": prior.degenerate,
        "dimensions": {name: _dimension(own) for name, own in prior.dimensions.items()},
        "cross_space_references": {name: _dimension(own) for name, own in prior.references.items()},
        "success": _rates(prior.rates),
        "task_similarity": {"tasks": prior.tasks[: len(prior.similarity)], "cosines": prior.similarity.round(6)},
        "nearest": {t: [{"task": n.task, "cosine": n.cosine} for n in found] for t, found in prior.nearest.items()},
        "missing": dict(prior.missing),
    }


def _dimension(own: Dimension) -> dict[str, Any]:
    return {
        **_reading(own.overall),
        "counts": own.counts,
        "method": own.method or None,
        "band": own.band,
        "by_task": {task: _reading(reading) for task, reading in own.by_task.items()},
    }


def _reading(reading: Reading) -> dict[str, Any]:
    return {
        "value": reading.value,
        "n": reading.n,
        "interval": reading.interval,
        "not_available_because": reading.reason,
        "no_interval_because": None if reading.interval or reading.value is None else reading.no_interval,
    }


def _rates(rates: Mapping[str, Rate]) -> dict[str, Any] | None:
    if not rates:
        return None
    keys = {
        task: {"rate": rate.value, "successes": rate.won, "n": rate.n, "interval": rate.interval}
        for task, rate in rates.items()
    }
    return {"overall": keys.pop(""), "by_task": keys}


def _rows(prior: str, own: Dimension) -> Iterator[list[Any]]:
    """Every number of a dimension, overall (no task) and by task."""
    for task, reading in (("", own.overall), *own.by_task.items()):
        low, high = reading.interval or (None, None)
        counts, band = (None, None) if task else (own.counts, own.band)
        yield [prior, own.name, task, reading.value, reading.n, counts, low, high, band, reading.reason]


def to_markdown(report: GoalsReport) -> str:
    """Verdict, findings, and a table of all priors."""
    names = {**DIMENSIONS, **REFERENCES}
    rows = []
    for prior in report.ranked():
        own = {**prior.references, **prior.dimensions}
        cells = (number_words(own[name].overall, points=name == "quality_gap") for name in names)
        rows.append([escape(prior.name), *cells])
    blocks = [
        f"# {escape(report.name)}: goals",
        f"**{escape(verdict(report))}**",
        pipes.findings(findings(report), "`goals.html`"),
        table(["prior", *(title.lower() for title in names.values())], rows),
        f"Numbers in brackets are {text.percent(report.level)} intervals. Cross-space numbers are for reference only.",
        f"<sub>{escape(report.generated_at)}</sub>",
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"
