"""Passages through a vessel, read from the records of a run.

The work is bounded: at most `RECORDS` records, of which only what is drawn is read, thinned to `POINTS` points; at most
`PICTURES` of them get a picture of their own. A trial counts as a passage where its record has `tip_pos3d` (T, 3), in
tracking coordinates and mm. Everything else is drawn as far as it is there:

- signals: `wall_wire_force_norm`, `wall_collision_force_norm` (the larger of the two is the wall force; where neither
  was measured, `wall_lcp_max_abs`), `wall_force_pos3d` (T, 3), `inserted_length` in mm, `wire_pos3d` (T, m, 3);
- constants: `vessel_pos3d` (n, 3), `vessel_radius` (n,), `vessel_branch` (n,), `target_pos3d`, `target_threshold_mm`,
  `force_unit`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from proctor.foreign import read_npz
from proctor.report.model import Cell, Mark, Report
from proctor.suites.endovascular.report.model import Passage, Peak, Vessel

RECORDS, PICTURES, POINTS = 60, 24, 160
AGENTS, TASKS, PICTURES_EACH, RECORDS_EACH = 6, 4, 4, 8
SIGN = "tip_speed_max_mm_s"
"""A metric that only trials with a tracked tip have: no record of other runs is opened."""

FORCES, FALLBACK = ("wall_wire_force_norm", "wall_collision_force_norm"), "wall_lcp_max_abs"
SERIES = ("tip_pos3d", "action_dt_s", "inserted_length", "wall_force_pos3d", *FORCES, FALLBACK)
SCENE = ("vessel_pos3d", "vessel_radius", "vessel_branch", "target_pos3d", "target_threshold_mm", "force_unit")
WANTED = frozenset((*SERIES, *SCENE))

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Share:
    """What of a run is drawn: of each of these tasks and agents so many records, so many of them as pictures."""

    tasks: tuple[str, ...]
    agents: tuple[str, ...]
    records: int
    pictures: int


def share_of(report: Report) -> Share | None:
    """None where no trial has a tracked tip."""
    cells = [cell for agent in report.agents for cell in agent.cells if _tracked(cell)]
    if not cells:
        return None
    tasks = tuple(task.task for task in report.tasks if any(cell.task == task.task for cell in cells))[:TASKS]
    agents = tuple(dict.fromkeys(cell.agent for cell in cells if cell.task in tasks))[:AGENTS]
    n = len(tasks) * len(agents)
    return Share(tasks, agents, max(1, min(RECORDS_EACH, RECORDS // n)), max(1, min(PICTURES_EACH, PICTURES // n)))


def _tracked(cell: Cell) -> bool:
    return cell.summary.metric(SIGN).n > 0


def read_passages(folder: Path, report: Report) -> tuple[Passage, ...]:
    """The first recorded trials of every agent, task by task, agents in rank order; the same seeds for all agents, so
    that they can be compared. A record that is gone, broken or without a tip is passed over."""
    share = share_of(report)
    if share is None:
        return ()
    return tuple(passage for task in share.tasks for passage in _of_task(folder, report, share, task))


def _of_task(folder: Path, report: Report, share: Share, task: str) -> Iterator[Passage]:
    agents = [agent for agent in report.agents if agent.agent in share.agents]
    cells = [cell for agent in agents for cell in agent.cells if cell.task == task and _tracked(cell)]
    indices = sorted({mark.index for cell in cells for mark in cell.marks if mark.npz is not None})
    wanted = {index: place for place, index in enumerate(indices[: share.records])}
    for cell in cells:
        for mark in sorted((m for m in cell.marks if m.index in wanted), key=lambda m: m.index):
            passage = _read(folder, cell, mark, wanted[mark.index] < share.pictures)
            if passage is not None:
                yield passage


def _read(folder: Path, cell: Cell, mark: Mark, pictured: bool) -> Passage | None:
    if mark.npz is None:
        return None
    try:
        arrays = read_npz(folder / mark.npz, lambda name: name in WANTED or (pictured and name == "wire_pos3d"))
    except (OSError, ValueError):
        return None
    return passage_of(arrays, cell, mark, pictured=pictured)


def passage_of(arrays: Arrays, cell: Cell, mark: Mark, *, pictured: bool = True) -> Passage | None:
    """The passage that these arrays record; None where they hold no path of a tip."""
    tip = _array(arrays, "tip_pos3d", (None, 3))
    if tip is None:
        return None
    known = np.flatnonzero(np.isfinite(tip).all(axis=1))
    if not known.size:
        return None
    kept = known[np.unique(np.linspace(0, len(known) - 1, POINTS).round().astype(int))]
    dt = float(arrays["action_dt_s"]) if "action_dt_s" in arrays else np.nan
    clock = bool(np.isfinite(dt) and dt > 0)
    times = (np.arange(len(tip)) + 1) * (dt if clock else 1.0)
    force = wall_force(arrays, len(tip))
    target, threshold = _array(arrays, "target_pos3d", (3,)), _array(arrays, "target_threshold_mm", ())
    inserted = _array(arrays, "inserted_length", (len(tip),))
    assert mark.npz is not None
    return Passage(
        agent=cell.agent,
        task=cell.task,
        index=mark.index,
        seed=mark.seed,
        outcome=mark.outcome,
        npz=mark.npz,
        video=mark.video,
        tip=seen(tip[kept]),
        times=times[kept],
        time_unit="s" if clock else "steps",
        force=None if force is None else largest_since(force, kept),
        force_unit=str(arrays["force_unit"]) if "force_unit" in arrays else "scene force",
        peak=None if force is None else _peak(arrays, force, tip, times),
        inserted_mm=None if inserted is None else inserted[kept],
        wire=_last_wire(arrays, len(tip)),
        target=None if target is None or not np.isfinite(target).all() else seen(target),
        threshold_mm=None if threshold is None or not np.isfinite(threshold) else float(threshold),
        vessel=_vessel(arrays),
        pictured=pictured,
    )


def seen(points: np.ndarray) -> np.ndarray:
    """Tracking coordinates (..., 3) as the C-arm's picture (..., 2): to the right and up."""
    return points[..., ::2]


def wall_force(arrays: Arrays, steps: int) -> np.ndarray | None:
    """The wall force of every step, NaN where it was not measured; None where it never was."""
    for names in (FORCES, (FALLBACK,)):
        found = [series for name in names if (series := _array(arrays, name, (steps,))) is not None]
        force = np.fmax.reduce(found) if found else np.full(steps, np.nan)
        force = np.where(np.isfinite(force), force, np.nan)
        if not np.isnan(force).all():
            return force
    return None


def largest_since(values: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """For every kept row the largest value since the kept row before it; NaN where there is none."""
    starts = np.concatenate([[0], kept[:-1] + 1])
    return np.fmax.reduceat(values[: kept[-1] + 1], starts)


def _peak(arrays: Arrays, force: np.ndarray, tip: np.ndarray, times: np.ndarray) -> Peak | None:
    row = int(np.nanargmax(force))
    places = _array(arrays, "wall_force_pos3d", (len(tip), 3))
    options = [tip[row]] if places is None else [places[row], tip[row]]
    place = next((p for p in options if np.isfinite(p).all()), None)
    return None if place is None else Peak(float(force[row]), float(times[row]), seen(place))


def _last_wire(arrays: Arrays, steps: int) -> np.ndarray | None:
    wires = _array(arrays, "wire_pos3d", (steps, None, 3))
    if wires is None:
        return None
    wire = wires[-1][np.isfinite(wires[-1]).all(axis=1)]
    return seen(wire) if len(wire) > 1 else None


def _vessel(arrays: Arrays) -> Vessel | None:
    points = _array(arrays, "vessel_pos3d", (None, 3))
    radii = None if points is None else _array(arrays, "vessel_radius", (len(points),))
    if points is None or radii is None or not (np.isfinite(points).all() and np.isfinite(radii).all()):
        return None
    names = arrays.get("vessel_branch", np.zeros(len(points)))
    if names.shape != radii.shape:
        return None
    starts = [0, *(i for i, (a, b) in enumerate(itertools.pairwise(names), 1) if a != b)]
    return Vessel(seen(points), radii, tuple(starts))


def _array(arrays: Arrays, name: str, shape: tuple[int | None, ...]) -> np.ndarray | None:
    """Numbers of this shape (None: any length but 0) as float64, or None."""
    found = arrays.get(name)
    if found is None or found.dtype.kind not in "biuf" or found.ndim != len(shape) or not found.size:
        return None
    fits = all(want is None or have == want for have, want in zip(found.shape, shape, strict=True))
    return found.astype(np.float64) if fits else None
