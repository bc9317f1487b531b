"""The trials to look at first: the worst and the slowest of every agent, with their recordings."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from proctor.report import text
from proctor.report.build.sample import AGENTS, EACH
from proctor.report.draw.markup import lead, table
from proctor.report.draw.svg import esc
from proctor.report.model import Extreme, Report
from proctor.report.section import Section


class Extremes(Section):
    """Tables of the lowest scores and of the longest wall times."""

    key, title, place = "extremes", "Worst and slowest trials", 130

    def html(self, report: Report, data: Any) -> str:
        if not report.extremes:
            return ""
        words = (
            f"Up to {EACH} trials of each of the first {AGENTS} agents. Start here to see what goes wrong; a seed "
            "leads to the trial's recording."
        )
        return lead(words) + f'<div class="pair">{_table(report, "worst")}{_table(report, "slowest")}</div>'


def _table(report: Report, kind: str) -> str:
    rows = [_row(trial) for trial in report.extremes if trial.kind == kind]
    caption = "Lowest scores" if kind == "worst" else "Longest wall times"
    header = ["Agent", "Task", "Seed", "Outcome", "Steps", "Score" if kind == "worst" else "Time"]
    return table(caption, header, rows, "extremes") if rows else ""


def _row(trial: Extreme) -> list[str]:
    last = text.number(trial.score) if trial.kind == "worst" else f"{text.number(trial.wall_time_s, 2)} s"
    cells = [esc(trial.agent), esc(trial.task), _seed(trial), esc(trial.outcome.replace("_", " "))]
    return [*cells, f"{trial.steps:,}", last]


def _seed(trial: Extreme) -> str:
    """The seed, leading to the trial's recording, and its video."""
    what = f"{trial.agent} on {trial.task}, seed {trial.seed}"
    seed = str(trial.seed) if trial.npz is None else _link(trial.npz, f"recording of {what}", str(trial.seed))
    return seed if trial.video is None else f"{seed} {_link(trial.video, f'video of {what}', 'video')}"


def _link(path: str, label: str, words: str) -> str:
    return f'<a href="{esc(quote(path))}" aria-label="{esc(label)}">{words}</a>'
