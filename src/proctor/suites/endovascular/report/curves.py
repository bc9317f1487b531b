"""Wall force of navigation in vessels as curves: over time and along the inserted length, agent by agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from proctor.report import text
from proctor.report.draw import svg
from proctor.report.draw.svg import Axis, esc
from proctor.suites.endovascular.report.drawing import area, curve, profile
from proctor.suites.endovascular.report.model import Passage


@dataclass(frozen=True)
class Axes:
    """What all panels share; `length` is None where no inserted length was recorded."""

    time: Axis
    length: Axis | None
    force: Axis
    time_unit: str
    force_unit: str


def by_agent(passages: Sequence[Passage]) -> dict[str, list[Passage]]:
    """In the order of the passages."""
    found: dict[str, list[Passage]] = {}
    for passage in passages:
        found.setdefault(passage.agent, []).append(passage)
    return found


def force_curves(passages: Sequence[Passage]) -> str:
    """One row for every agent, all on one scale; "" where no force was measured."""
    measured = [p for p in passages if p.force is not None]
    if not measured:
        return ""
    axes = axes_of(measured)
    rows = "".join(
        f'<div class="force-row"><b>{esc(agent)}</b>{_over_time(agent, own, axes)}{_along(agent, own, axes)}</div>\n'
        for agent, own in by_agent(measured).items()
    )
    outcomes = "".join(_sample(outcome) for outcome in dict.fromkeys(p.outcome for p in measured))
    return (
        f"<h3>Wall force ({esc(axes.force_unit)})</h3>\n"
        f'<ul class="key" aria-label="Outcomes">{outcomes}</ul>\n<div class="forces">{rows}</div>\n'
    )


def axes_of(passages: Sequence[Passage]) -> Axes:
    """Axes from 0 that hold every time, length and force."""
    inserted = [p.inserted_mm for p in passages if p.inserted_mm is not None]
    lengths = [float(mm[np.isfinite(mm)].max(initial=0.0)) for mm in inserted]
    return Axes(
        time=upwards(max(p.duration for p in passages)),
        length=upwards(max(lengths)) if lengths else None,
        force=upwards(max((p.peak.force for p in passages if p.peak is not None), default=0.0)),
        time_unit=passages[0].time_unit,
        force_unit=passages[0].force_unit,
    )


def upwards(top: float) -> Axis:
    """From 0 to a round number that is not below `top`."""
    return svg.round_axis(0.0, top if top > 0 else 1.0)


def _sample(outcome: str) -> str:
    shape = f'<path class="trial line-{outcome}" d="M0 7H14"/>'
    words = esc(outcome.replace("_", " "))
    return f'<li><svg class="sample" viewBox="0 0 14 14" aria-hidden="true">{shape}</svg> {words}</li>'


def _over_time(agent: str, passages: Sequence[Passage], axes: Axes) -> str:
    lines = "".join(
        f'<path class="trial line-{p.outcome}" d="{curve(p.times / axes.time.high, p.force / axes.force.high)}"/>'
        for p in passages
        if p.force is not None
    )
    peaks = [f"{text.number(p.peak.force)} with seed {p.seed}" for p in passages if p.peak is not None]
    label = f"{agent}: wall force over time; peaks in {axes.force_unit}: {text.listed(peaks)}" if peaks else agent
    names = (f"time ({axes.time_unit})", axes.force_unit)
    return _panel(lines, axes.time, axes.force, "over time, a line per trial", names, label)


def _along(agent: str, passages: Sequence[Passage], axes: Axes) -> str:
    if axes.length is None:
        return ""
    along = profile(passages, axes.length.high)
    if along is None:
        return '<span class="none">no inserted length was recorded</span>'
    place = int(np.nanargmax(along))
    at = text.number((place + 0.5) / len(along) * axes.length.high)
    peak = f"{text.number(float(along[place]))} {axes.force_unit} at about {at} mm"
    body = f'<path class="profile" d="{area(along / axes.force.high)}"/>'
    title, names = "by inserted length, the largest of all trials", ("inserted length (mm)", axes.force_unit)
    return _panel(
        body, axes.length, axes.force, title, names, f"{agent}: wall force by inserted length; largest {peak}"
    )


def _panel(body: str, across: Axis, up: Axis, title: str, names: tuple[str, str], label: str) -> str:
    """Curves on a grid, the title above, ticks at the left and below, with the names of both axes."""
    places = [(t, 100 * t / across.high) for t in across.ticks]
    levels = [(t, 100 * (1 - t / up.high)) for t in (up.ticks if len(up.ticks) < 5 else up.ticks[::2])]
    grid = "".join(f'<path class="grid" d="M{x:.2f} 0V100"/>' for _, x in places)
    grid += "".join(f'<path class="grid" d="M0 {y:.2f}H100"/>' for _, y in levels)
    left = "".join(f'<text class="tick" x="-6" y="{y:.2f}%" dy="4" text-anchor="end">{t:g}</text>' for t, y in levels)
    below = "".join(
        f'<text class="tick" x="{x:.2f}%" y="100%" dy="15" text-anchor="middle">{t:g}</text>' for t, x in places
    )
    below += f'<text class="tick" x="50%" y="100%" dy="29" text-anchor="middle">{esc(names[0])}</text>'
    left += f'<text class="tick" x="-6" y="0" dy="-8" text-anchor="end">{esc(names[1])}</text>'
    inner = f'<svg viewBox="0 0 100 100" preserveAspectRatio="none" width="100%" height="100%">{grid}{body}</svg>'
    drawn = f'<svg class="panel" role="img" aria-label="{esc(label)}">{inner}{left}{below}</svg>'
    return f"<figure><figcaption>{esc(title)}</figcaption>{drawn}</figure>"
