"""What services get of a run at its end, beside numbers: a table, the report's files, some videos."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from pydantic import Field

from proctor.record.rundir import RunDir
from proctor.runs.loggers.base import Logger, LoggerOptions
from proctor_host.result import TrialResult

COLUMNS = (
    "agent", "task", "trials_scored", "trials_unscored", "success_rate", "success_low", "success_high", "score",
    "score_low", "score_high",
)  # fmt: skip
ALL = "all tasks"
FILES = ("report.html", "report.json", "report.md", "report.csv", "summary.csv", "config.json")


class EvidenceOptions(LoggerOptions):
    """`report`: whether the report's files are sent. `videos`: how many videos at most, of those that the run made."""

    report: bool = True
    videos: int = Field(default=4, ge=0, le=100)


class ServiceLogger(Logger):
    """Logs to a run of a service whose package has `Table`, `Video` and `Artifact`. The run stays open when the logger
    is closed, unless it was started for a run folder (`_own`). `_evidence`: what is sent of which folder at the end."""

    def __init__(self, service: Any, run: Any):
        self._service, self.run = service, run
        self._own, self._step = False, 0
        self._evidence: tuple[EvidenceOptions, Path] | None = None

    def log(self, values: Mapping[str, float], step: int) -> None:
        self._step = step
        self._send(dict(values))

    def log_rows(self, name: str, rows: Sequence[Mapping[str, Any]], step: int) -> None:
        self._step = step
        self._send({name: self._service.Table(columns=columns_of(rows), data=cells_of(rows))})

    def end(self, report: Mapping[str, Any]) -> None:
        self._send({"report/table": self._service.Table(columns=list(COLUMNS), data=table(report))})
        if self._evidence is None:
            return
        options, folder = self._evidence
        for name, path in chosen_videos(folder, options.videos):
            self._send({f"videos/{name}": self._service.Video(str(path), caption=name, format="mp4")})
        if options.report and (files := report_files(folder)):
            artifact = self._service.Artifact(f"report-{plain_name(folder.name)}", type="report")
            for path in files:
                artifact.add_file(str(path), name=path.name)
            with self._aside():
                self.run.log_artifact(artifact)

    def close(self) -> None:
        if self._own:
            self._own = False
            with self._aside():
                self._finish()

    def _send(self, values: dict[str, Any]) -> None:
        with self._aside():
            self.run.log(values, step=self._step)

    def _finish(self) -> None:
        self.run.finish()

    def _aside(self) -> AbstractContextManager[Any]:
        """Where what the service prints goes."""
        return nullcontext()


def table(report: Mapping[str, Any]) -> list[list[Any]]:
    """Rows of COLUMNS: each agent on all tasks, and on each task where there are several. None where nothing is
    known."""
    rows = []
    for agent in report["agents"]:
        tasks = agent.get("tasks", [])
        rows.append(_row(agent["agent"], tasks[0]["task"] if len(tasks) == 1 else ALL, agent))
        rows += [_row(agent["agent"], task["task"], task) for task in tasks if len(tasks) > 1]
    return rows


def _row(agent: str, task: str, found: Mapping[str, Any]) -> list[Any]:
    success, score = found.get("success") or {}, found.get("score") or {}
    intervals = [given.get("interval") or (None, None) for given in (success, score)]
    counts = [found.get("n"), found.get("n_unscored")]
    return [agent, task, *counts, success.get("rate"), *intervals[0], score.get("mean"), *intervals[1]]


def columns_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns of a table whose rows may lack some, in the order in which they are met."""
    return list(dict.fromkeys(key for row in rows for key in row))


def cells_of(rows: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """The table, row by row; None where a row has no value."""
    columns = columns_of(rows)
    return [[row.get(column) for column in columns] for row in rows]


def markdown_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """The table as Markdown."""
    columns = columns_of(rows)
    lines = [columns, ["---"] * len(columns), *cells_of(rows)]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def markdown(report: Mapping[str, Any]) -> str:
    """The table as Markdown."""
    lines = [COLUMNS, ["---"] * len(COLUMNS), *table(report)]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("|", "\\|")


def plain_name(name: str) -> str:
    """A name with letters, digits, dots and hyphens, as every service takes it."""
    return re.sub(r"[^A-Za-z0-9_.-]", "-", name)[:100]


def report_files(folder: Path) -> list[Path]:
    """The files of a run folder that tell of it as a whole."""
    return [folder / name for name in FILES if (folder / name).is_file()]


def chosen_videos(folder: Path, most: int) -> list[tuple[str, Path]]:
    """At most so many videos of a run, each with a name: of every agent in turn its first failure, then its first
    success, then the second of each, and so on."""
    if not most or not (folder / "videos").is_dir():
        return []
    found: dict[tuple[str, bool], list[TrialResult]] = {}
    for result in RunDir.open(folder).results():
        if result.video is not None and (folder / result.video).is_file():
            found.setdefault((result.trial.agent, bool(result.success)), []).append(result)
    ranked = ((place, won, agent, r) for (agent, won), own in found.items() for place, r in _in_order(own))
    best = heapq.nsmallest(most, ranked, key=lambda entry: entry[:3])
    return [(f"{r.trial.agent}/{r.trial.task}/{r.trial.index}", folder / str(r.video)) for *_, r in best]


def _in_order(results: list[TrialResult]) -> Iterator[tuple[int, TrialResult]]:
    return enumerate(sorted(results, key=lambda result: (result.trial.task, result.trial.index)))
