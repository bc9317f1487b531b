"""Drawings of a goal evaluation: distributions of cosines, the heat map of tasks, the map of goals and pictures."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

import numpy as np

from proctor.report import text
from proctor.report.draw.charts import COLOURS, Frame, Line, chart
from proctor.report.draw.markup import scale_key, table
from proctor.report.draw.palette import NEUTRAL, heat_step
from proctor.report.draw.png import png
from proctor.report.draw.svg import Axis, esc
from proctor.suites.goals.report.model import GoalsReport, PriorReport

BINS = 40
MOST_HEAT, MOST_MAPS, MOST_NUMBERS = 24, 8, 12
MARKS = ("circle", "square", "diamond")


def distribution(prior: PriorReport) -> str:
    """Shares of cosines with pictures of the own task and of others, as two lines over [-1, 1]; "" without any."""
    if not len(prior.own):
        return ""
    low = -1.0 if min(prior.own.min(), prior.other.min(initial=1.0)) < 0 else 0.0
    edges = np.linspace(low, 1.0, BINS + 1)
    shares = [_shares(values, edges) for values in (prior.own, prior.other)]
    top = max(0.05, *(float(s.max(initial=0)) for s in shares))
    across = Axis(low, 1.0, tuple(np.linspace(low, 1, 5)))
    up = Axis(0.0, top, (0.0, top))
    ticks = ([f"{t:.2g}" for t in across.ticks], ["0", f"{100 * top:.0f} %"])
    frame = Frame(prior.name, across, up, *ticks, "cosine of goal and picture", "share of pairs")
    centres = (edges[1:] + edges[:-1]) / 2
    lines = [Line(name, centres, s) for name, s in zip(("own task", "other tasks"), shares, strict=True)]
    others = f"{prior.other.mean():.3f} with other tasks'" if len(prior.other) else "no other task"
    return chart(frame, lines, f"{prior.name}: mean cosine {prior.own.mean():.3f} with pictures of the task, {others}")


def _shares(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
    return counts / max(1, counts.sum())


def similarity_map(prior: PriorReport) -> str:
    """Cosines between the goals of tasks as a table; the first MOST_HEAT tasks. "" with fewer than two."""
    tasks, means = prior.answers.tasks, prior.answers.means[:MOST_HEAT]
    shown = tasks[:MOST_HEAT]
    if len(shown) < 2:
        return ""
    cosines = (means @ means.T).tolist()
    cells = [
        [f'<td class="{NEUTRAL}{heat_step(v)}">{f"{v:.2f}".replace("-", "−")}</td>' for v in row] for row in cosines
    ]
    rows = [[esc(task), *row] for task, row in zip(shown, cells, strict=True)]
    more = "" if len(shown) == len(tasks) else f" (the first {len(shown)} of {len(tasks)})"
    header = ["Task", *(esc(task).replace("_", "_<wbr>") for task in shown)]
    drawn = table(f"{prior.name}: cosine between goals of tasks{more}", header, rows, "heat goals")
    return drawn + scale_key(NEUTRAL, "0 or less", "1")


def goal_map(report: GoalsReport, prior: PriorReport) -> str:
    """Success visuals as small marks, goals as large ones with their number; colours and shapes are the tasks'. ""
    where there is no map."""
    if report.map is None or not len(prior.places):
        return ""
    every = np.concatenate([report.map.places, *(p.places for p in report.priors if len(p.places))])
    low, high = every.min(axis=0), every.max(axis=0)
    span = np.where(high - low > 0, high - low, 1.0)

    def at(point: np.ndarray) -> tuple[float, float]:
        x, y = (point - low) / span
        return 4 + 92 * float(x), 96 - 92 * float(y)

    small = "".join(
        _mark(*at(point), int(task), "seen") for point, task in zip(report.map.places, report.map.task, strict=True)
    )
    spots: dict[tuple[int, int], tuple[float, float, list[int]]] = {}
    for place, task in zip(prior.places, prior.answers.tasks, strict=True):
        x, y = at(place)
        spots.setdefault((round(x), round(y)), (x, y, []))[2].append(report.records.tasks.index(task))
    large = "".join(_goal(*spot) for spot in spots.values())
    goals, seen = text.count(len(prior.places), "task"), text.count(len(report.map.places), "picture")
    spoken = esc(f"{prior.name}: goals of {goals} among {seen} of success")
    return (
        f'<figure class="goal-map"><figcaption>{esc(prior.name)}</figcaption>'
        f'<svg role="img" aria-label="{spoken}" viewBox="0 0 100 100">{small}{large}</svg></figure>'
    )


def _mark(x: float, y: float, task: int, kind: str, size: float = 0.9) -> str:
    style = f"{kind} k{task % COLOURS}"
    shape = MARKS[task // COLOURS % len(MARKS)]
    if shape == "circle":
        return f'<circle class="{style}" cx="{x:.2f}" cy="{y:.2f}" r="{size}"/>'
    turn = f' transform="rotate(45 {x:.2f} {y:.2f})"' if shape == "diamond" else ""
    place = f'x="{x - size:.2f}" y="{y - size:.2f}" width="{2 * size}" height="{2 * size}"'
    return f'<rect class="{style}" {place}{turn}/>'


def _goal(x: float, y: float, tasks: Sequence[int]) -> str:
    """A goal with its task's number; goals on one spot are one mark with all their numbers beside it."""
    mark = _mark(x, y, tasks[0], "goal", 2.6)
    if len(tasks) == 1:
        return f'{mark}<text x="{x:.2f}" y="{y + 1:.2f}" text-anchor="middle">{tasks[0] + 1}</text>'
    numbers = ", ".join(str(task + 1) for task in tasks[:MOST_NUMBERS]) + (" …" if len(tasks) > MOST_NUMBERS else "")
    side, anchor = (x + 3.4, "start") if x < 60 else (x - 3.4, "end")
    return f'{mark}<text class="beside" x="{side:.2f}" y="{y + 1:.2f}" text-anchor="{anchor}">{numbers}</text>'


def map_legend(tasks: Sequence[str]) -> str:
    items = "".join(
        f'<li><svg viewBox="0 0 8 8" aria-hidden="true">{_mark(4, 4, i, "goal", 2.6)}</svg>{i + 1} {esc(task)}</li>'
        for i, task in enumerate(tasks)
    )
    return f'<ul class="lines">{items}</ul>'


def picture_rules(pictures: Mapping[int, np.ndarray]) -> str:
    """A CSS class for every picture (`pic3` for that of row 3), so that each is in the file once."""
    return "\n".join(f".pic{row} {{ background-image: url({data_uri(p)}); }}" for row, p in pictures.items())


def data_uri(picture: np.ndarray) -> str:
    """A PNG in a URI."""
    return f"data:image/png;base64,{base64.b64encode(png(picture)).decode()}"
