"""Profiles of scores, and curves over the checkpoints of a training."""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor.report import text
from proctor.report.draw.charts import Frame, Line, chart, legend
from proctor.report.draw.markup import lead
from proctor.report.draw.svg import Axis, axis_for, round_axis, unit_axis
from proctor.report.model import AgentReport, Report, Training
from proctor.report.section import Section

PERCENTS = tuple(text.percent(tick) for tick in unit_axis().ticks)


class Profiles(Section):
    """Which share of trials scores above each value; nothing where scores are only 0 or 1."""

    key, title, place = "profiles", "Profiles", 60
    stylesheets = ("proctor.report/comparison.css",)

    def html(self, report: Report, data: Any) -> str:
        if not report.profiles:
            return ""
        first = report.profiles[0].profile
        axis = axis_for([float(first.thresholds[0]), float(first.thresholds[-1])])
        named = [(p.agent, p.profile) for p in report.profiles]
        lines = [Line(name, found.thresholds, found.shares, found.low, found.high) for name, found in named]
        names = (_with_unit("score", report), "share of trials above")
        frame = Frame("Share of trials that score above", axis, unit_axis(), _labels(axis), PERCENTS, *names)
        words = (
            "The higher a line, the better; where two cross, one agent is better at its best and the other at its "
            f"worst. Shaded: {text.percent(report.context.level)} of resamples, at each score by itself."
        )
        hidden = len([a for a in report.agents if a.overall.score.mean is not None]) - len(report.profiles)
        words += f" Not drawn: {text.count(hidden, 'agent')} of lower rank." if hidden > 0 else ""
        middle = len(first.thresholds) // 2
        halves = "; ".join(f"{p.agent} {text.percent(float(p.profile.shares[middle]))}" for p in report.profiles)
        spoken = f"Performance profiles. Share of trials above the middle of the scale: {halves}."
        return lead(words) + legend([p.agent for p in report.profiles]) + chart(frame, lines, spoken)


class Curves(Section):
    """Success and score of the checkpoints of every training."""

    key, title, place = "curves", "Over training", 70
    stylesheets = ("proctor.report/comparison.css",)

    def html(self, report: Report, data: Any) -> str:
        if not report.trainings:
            return ""
        words = (
            f"Agents that differ in a number only, by that number. Bars: {text.percent(report.context.level)} "
            "intervals, each checkpoint by itself. The best of many looks better than it is: examine it again on new "
            "seeds."
        )
        names = [training.name for training in report.trainings]
        by_name = {agent.agent: agent for agent in report.agents}
        steps = [step for training in report.trainings for step in training.steps]
        across = round_axis(min(steps), max(steps))
        drawn = [_curve(report, across, by_name, measure) for measure in report.measures]
        return lead(words) + legend(names) + f'<div class="pair">{"".join(drawn)}</div>'


def _curve(report: Report, across: Axis, by_name: dict[str, AgentReport], measure: str) -> str:
    lines = [_line(training, by_name, measure) for training in report.trainings]
    points = [
        float(v) for line in lines for part in (line.y, line.low, line.high) if part is not None for v in part
        if np.isfinite(v)
    ]  # fmt: skip
    if not points:
        return ""
    up = unit_axis() if measure == "success" else axis_for(points)
    labels = PERCENTS if measure == "success" else _labels(up)
    title = "Success rate" if measure == "success" else "Score"
    best = [f"{line.name}: best at {training.steps[int(np.nanargmax(line.y))]:,}" for line, training in
            zip(lines, report.trainings, strict=True) if np.isfinite(line.y).any()]  # fmt: skip
    name = "success rate" if measure == "success" else _with_unit("score", report)
    frame = Frame(title, across, up, [_short(t) for t in across.ticks], labels, "number in the name", name)
    return chart(frame, lines, f"{title}. {'; '.join(best)}.")


def _with_unit(name: str, report: Report) -> str:
    return name if report.scoring.unit == "1" else f"{name} ({report.scoring.unit})"


def _line(training: Training, by_name: dict[str, AgentReport], measure: str) -> Line:
    rows = []
    for name in training.agents:
        own = by_name[name].overall.measure(measure)
        rows.append([np.nan if v is None else v for v in (own.value, *(own.interval or (None, None)))])
    y, low, high = np.array(rows, dtype=np.float64).T
    return Line(training.name, np.array(training.steps, dtype=np.float64), y, low, high, points=True)


def _labels(axis: Axis) -> list[str]:
    return [f"{tick:.4g}".replace("-", "−") for tick in axis.ticks]


def _short(value: float) -> str:
    """`2k`, `1.5M`: numbers of training steps."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
