"""Videos of trials, played in the page, and links to them from everywhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from proctor.record.video import poster_of
from proctor.report import text
from proctor.report.draw import svg
from proctor.report.draw.markup import lead
from proctor.report.draw.svg import esc
from proctor.report.model import Mark, Picked, Report
from proctor.report.section import Section

OPEN = 12
"""How many videos are in sight before a fold is opened."""


class Films(Section):
    """The videos of a run: failures first, each with its last frame, and nothing of it loaded before it is played."""

    key, title, place = "videos", "Videos", 115
    stylesheets = ("proctor.report/films.css",)

    def read(self, folder: Path, report: Report) -> Mapping[str, str | None]:
        """The still picture of every video that is there, by the video; None where it has none."""
        there = [trial.video for trial in report.filmed if trial.video and os.path.isfile(folder / trial.video)]
        stills = {video: poster_of(Path(video)).as_posix() for video in there}
        return {video: still if os.path.isfile(folder / still) else None for video, still in stills.items()}

    def html(self, report: Report, data: Mapping[str, str | None] | None) -> str:
        shown = [trial for trial in report.filmed if data and trial.video in data]
        if not shown or not data:
            return ""
        of = f"{len(shown)} of {report.n_filmed:,} videos" if len(shown) < report.n_filmed else "Every video"
        words = (
            f"{of}, failures first; the picture is the last frame. A video is loaded when it is played, from the "
            "folder that this page lies in."
        )
        figures = [_film(trial, data[trial.video or ""]) for trial in shown]
        first, folded = (f'<div class="films">{"".join(part)}</div>\n' for part in (figures[:OPEN], figures[OPEN:]))
        rest = f"<details><summary>{len(figures) - OPEN} more</summary>{folded}</details>\n"
        return f"{lead(words)}{first}" + (rest if len(figures) > OPEN else "")

    def keys(self, report: Report, data: Mapping[str, str | None] | None) -> dict[str, Any]:
        stills = data or {}
        shown = [{**asdict(t), "poster": stills[t.video]} for t in report.filmed if t.video and t.video in stills]
        return {"videos": shown} if shown else {}


def _film(trial: Picked, still: str | None) -> str:
    assert trial.video is not None
    poster = "" if still is None else f' poster="{svg.beside(still)}"'
    score = "" if trial.score is None else f", score {text.number(trial.score)}"
    steps = "" if trial.steps is None else f", {text.count(trial.steps, 'step')}"
    outcome = trial.outcome.replace("_", " ")
    return (
        f'<figure class="film" id="{anchor(trial.video)}"><video controls preload="none" playsinline{poster} '
        f'src="{svg.beside(trial.video)}" aria-label="{esc(f"{trial.name}: {outcome}")}"></video>'
        f"<figcaption>{svg.shape(trial.outcome)} <b>{esc(trial.agent)}</b> on {esc(trial.task)}"
        f"<span>seed {trial.seed}: {esc(outcome)}{steps}{esc(score)}</span></figcaption></figure>\n"
    )


def anchor(video: str) -> str:
    """The place of a video in the page."""
    return f"video-{svg.beside(Path(video).stem)}".replace("%", "-")


def leads_to(report: Report, trial: Mark) -> str | None:
    """The address of what shows a trial best: its video in the page, else its video's file, else its record."""
    if trial.video is not None:
        played = any(film.video == trial.video for film in report.filmed)
        listed = any(shown.section.key == Films.key for shown in report.sections)
        return f"#{anchor(trial.video)}" if played and listed else svg.beside(trial.video)
    return None if trial.npz is None else svg.beside(trial.npz)
