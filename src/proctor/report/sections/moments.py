"""The worst trials in pictures: how each looked at its start, at its worst moment and at its end."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from proctor.record.files import refuse_link
from proctor.record.moments import Portrait, Shot, read_portraits
from proctor.report import text
from proctor.report.draw import svg
from proctor.report.draw.markup import lead
from proctor.report.draw.svg import esc
from proctor.report.model import Picked, Report
from proctor.report.section import Section

TITLES = {"start": "Start", "worst": "Worst moment", "end": "End"}


@dataclass(frozen=True)
class Pictured:
    """The portraits of a run by record, and the folder that they are in."""

    folder: Path
    portraits: Mapping[str, Portrait]


class Moments(Section):
    """Pictures that were drawn of the worst trials; where they were not, the reason."""

    key, title, place = "moments", "Worst trials in pictures", 118
    stylesheets = ("proctor.report/films.css",)

    def read(self, folder: Path, report: Report) -> Pictured:
        found = read_portraits(folder)
        there = {
            npz: portrait
            for npz, portrait in found.items()
            if all(os.path.isfile(folder / shot.file) for shot in portrait.shots)
        }
        return Pictured(folder, there)

    def write(self, folder: Path, data: Pictured) -> None:
        """A report in another folder takes its pictures with it."""
        if os.path.realpath(folder) == os.path.realpath(data.folder):
            return
        files = [shot.file for portrait in data.portraits.values() for shot in portrait.shots]
        for file in files:
            (folder / file).parent.mkdir(exist_ok=True)
            refuse_link((folder / file).parent)
            shutil.copyfile(data.folder / file, folder / file, follow_symlinks=False)

    def html(self, report: Report, data: Pictured | None) -> str:
        found = _of_worst(report, data)
        if not found:
            return ""
        drawn = [(trial, portrait) for trial, portrait in found if portrait.shots]
        words = "Drawn from the recorded states: failures first, each agent in turn."
        skipped = dict.fromkeys(portrait.skipped for _, portrait in found if portrait.skipped)
        missing = len(found) - len(drawn)
        if skipped:
            words += f" {text.count(missing, 'trial')} could not be drawn: {'; '.join(filter(None, skipped))}."
        return lead(words) + "".join(_row(trial, portrait) for trial, portrait in drawn)

    def keys(self, report: Report, data: Pictured | None) -> dict[str, Any]:
        found = _of_worst(report, data)
        entries = [
            {"agent": t.agent, "task": t.task, "seed": t.seed, "npz": t.npz, **asdict(portrait)}
            for t, portrait in found
        ]
        return {"moments": entries} if entries else {}


def _of_worst(report: Report, data: Pictured | None) -> list[tuple[Picked, Portrait]]:
    known = {} if data is None else data.portraits
    return [(trial, known[trial.npz]) for trial in report.worst if trial.npz is not None and trial.npz in known]


def _row(trial: Picked, portrait: Portrait) -> str:
    score = "" if trial.score is None else f", score {text.number(trial.score)}"
    outcome = trial.outcome.replace("_", " ")
    shots = "".join(_shot(trial, shot) for shot in portrait.shots)
    return (
        f"<h3>{svg.shape(trial.outcome)} {esc(trial.name)} "
        f'<span class="span">{esc(outcome)}{esc(score)}</span></h3>\n<div class="moments">{shots}</div>\n'
    )


def _shot(trial: Picked, shot: Shot) -> str:
    words = f"{trial.name}: {shot.name}, {shot.words}"
    return (
        f'<figure><img loading="lazy" src="{svg.beside(shot.file)}" alt="{esc(words)}">'
        f"<figcaption>{TITLES.get(shot.name, esc(shot.name))}<span>{esc(shot.words)}</span></figcaption></figure>"
    )
