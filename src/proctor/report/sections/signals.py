"""What was recorded of the worst trials, over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from proctor.foreign import read_npz
from proctor.record.signals import step_arrays, step_times, unit_of
from proctor.report import text
from proctor.report.draw import svg
from proctor.report.draw.charts import Frame, Line, chart, legend
from proctor.report.draw.markup import lead
from proctor.report.draw.svg import axis_for, esc, round_axis
from proctor.report.model import Picked, Report
from proctor.report.section import Section

TRIALS, PANELS, BINS, SEPARATE = 4, 12, 80, 6
"""How many trials are drawn, with how many signals each, of how many stretches; a signal with more numbers than
`SEPARATE` is drawn as the span between the smallest and the largest of them."""
FLAGS = ("terminals", "truncations", "success")
AXES, SPATIAL = ("x", "y", "z"), ("pos", "vel", "acc", "force")
"""What three numbers of a signal are called whose name has one of these words."""


@dataclass(frozen=True, eq=False)
class Signal:
    """One recorded array: `values` (T, k)."""

    name: str
    unit: str | None
    values: np.ndarray

    @property
    def changes(self) -> bool:
        known = self.values[np.isfinite(self.values).all(axis=1)]
        return len(known) > 1 and bool((known != known[0]).any())

    @property
    def axis_words(self) -> str:
        """What the axis of its values is called."""
        if self.values.dtype == np.bool_:
            return "0 no, 1 yes"
        return self.unit or ("reward" if self.name == "rewards" else "value")


@dataclass(frozen=True, eq=False)
class Recording:
    """What one trial recorded: `times` (T,) in `unit`."""

    trial: Picked
    times: np.ndarray
    unit: str
    signals: tuple[Signal, ...]


class Signals(Section):
    """Signals, rewards and actions of the worst recorded trials over time, one chart each."""

    key, title, place = "signals", "Signals of the worst trials", 135
    stylesheets = ("proctor.report/comparison.css", "proctor.report/signals.css")

    def read(self, folder: Path, report: Report) -> tuple[Recording, ...]:
        found = (_recorded(folder, trial, report.signal_units) for trial in report.worst)
        return tuple(recording for recording in found if recording is not None)[:TRIALS]

    def html(self, report: Report, data: Sequence[Recording] | None) -> str:
        if not data:
            return ""
        words = (
            "Failures first: the worst recorded trial of each agent, then the second worst, as far as there is room. "
            "Thinned curves keep their peaks. A signal of many numbers is drawn as the span from its smallest to its "
            "largest, with their median. A unit is shown where the signal's name or its suite says it."
        )
        return lead(words) + "".join(_shown(recording, opened=not place) for place, recording in enumerate(data))


def _recorded(folder: Path, trial: Picked, units: Mapping[str, str]) -> Recording | None:
    """What a trial recorded; None where its file is gone, broken or without a step."""
    if trial.npz is None:
        return None
    try:
        arrays = read_npz(folder / trial.npz, lambda name: not name.startswith("observations"))
        if not len(arrays["rewards"]):
            return None
        times, unit = step_times(arrays)
        found = {name: values for name, values in step_arrays(arrays).items() if name not in FLAGS}
    except (OSError, ValueError, KeyError, TypeError):
        return None
    signals = tuple(Signal(name, unit_of(name, units, arrays), values) for name, values in found.items())
    return Recording(trial, times, unit, tuple(sorted(signals, key=_order)))


def _order(signal: Signal) -> tuple[int, str]:
    """Rewards, then signals of one number, of a few, actions, and those of many."""
    if signal.name == "rewards":
        return 0, ""
    width = signal.values.shape[1]
    if width > SEPARATE:
        return 4, signal.name
    return (3 if signal.name == "actions" else 1 if width == 1 else 2), signal.name


def _shown(recording: Recording, *, opened: bool) -> str:
    moving = [signal for signal in recording.signals if signal.changes]
    still = [f"{s.name} ({text.number(float(s.values[-1, 0]))})" for s in recording.signals if not s.changes]
    charts = "".join(_chart(recording, signal) for signal in moving[:PANELS])
    hidden = [signal.name for signal in moving[PANELS:]]
    rest = [f"Did not change: {text.listed(still, 12)}."] if still else []
    rest += [f"Not drawn: {text.listed(hidden, 12)}; `proctor export RUN --csv` has all."] if hidden else []
    trial = recording.trial
    score = "no score" if trial.score is None else f"score {text.number(trial.score)}"
    title = f"{trial.name}: {trial.outcome.replace('_', ' ')}, {score}"
    link = f'<a href="{svg.beside(trial.npz or "")}">{esc(trial.npz or "")}</a>'
    return (
        f"<details{' open' if opened else ''}><summary>{svg.shape(trial.outcome)} {esc(title)}</summary>"
        f'<div class="signals">{charts}</div>\n<p class="lead">{esc(" ".join(rest))} Record: {link}</p></details>\n'
    )


def _chart(recording: Recording, signal: Signal) -> str:
    lines = list(_lines(recording.times, signal))
    values = np.concatenate([part for line in lines for part in (line.y, line.low, line.high) if part is not None])
    known = values[np.isfinite(values)].astype(float)
    low, high = float(known.min()), float(known.max())
    up = round_axis(low, high) if high > low else axis_for([low])
    across = round_axis(0.0, float(recording.times[-1]))
    frame = Frame(
        title=signal.name,
        across=across,
        up=up,
        labels_across=[svg.tick_words(tick) for tick in across.ticks],
        labels_up=[svg.tick_words(round(tick, 12)) for tick in up.ticks],
        name_across=f"time ({recording.unit})" if recording.unit == "s" else "step",
        name_up=signal.axis_words,
    )
    span = f"between {text.number(low)} and {text.number(high)}" + (f" {signal.unit}" if signal.unit else "")
    spoken = f"{signal.name} over {text.number(float(recording.times[-1]))} {recording.unit}: {span}"
    return chart(frame, lines, spoken, legend([line.name for line in lines]) if len(lines) > 1 else "")


def _lines(times: np.ndarray, signal: Signal) -> Iterator[Line]:
    values = np.where(np.isfinite(signal.values), signal.values, np.nan).astype(np.float64)
    width = values.shape[1]
    if width > SEPARATE:
        yield _span(times, signal.name, values)
        return
    spatial = width == 3 and any(word in signal.name for word in SPATIAL)
    names = [signal.name] if width == 1 else AXES if spatial else [f"[{i}]" for i in range(width)]
    for name, column in zip(names, values.T, strict=True):
        kept = thinned(column)
        yield Line(name, times[kept], column[kept])


def _span(times: np.ndarray, name: str, values: np.ndarray) -> Line:
    """The smallest, the median and the largest number of every stretch."""
    known = np.isfinite(values).all(axis=1)
    times, values = times[known], values[known]
    starts = _starts(len(values))
    low, high = np.minimum.reduceat(values.min(axis=1), starts), np.maximum.reduceat(values.max(axis=1), starts)
    return Line(name, times[starts], np.median(values, axis=1)[starts], low, high)


def _starts(n: int) -> np.ndarray:
    return np.unique(np.linspace(0, n, min(BINS, n), endpoint=False).astype(int))


def thinned(values: np.ndarray) -> np.ndarray:
    """Which rows to draw, in their order: of each stretch those with the smallest and the largest number, and both
    ends; all where there are few."""
    n = len(values)
    if n <= 2 * BINS:
        return np.arange(n)
    edges = np.append(_starts(n), n)
    kept = {0, n - 1}
    for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        part = values[start:stop]
        if np.isfinite(part).any():
            kept |= {start + int(np.nanargmin(part)), start + int(np.nanargmax(part))}
    return np.array(sorted(kept))
