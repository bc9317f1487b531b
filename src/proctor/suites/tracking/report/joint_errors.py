"""Joint errors over time, of the worst cases of motion tracking, read from their records.

The work is bounded: a few records, of which only the arrays of tracking are read, and a fixed number of bins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from proctor.errors import InputError
from proctor.record.episode import Episode, Outcome
from proctor.report.model import Case, CaseTable, JointErrors
from proctor.suites.tracking.metrics.frames import frame_metrics
from proctor.suites.tracking.metrics.recorded import RECORDED, episode_options, episode_tracks

MAPS, BINS = 6, 80


def read_joint_errors(folder: Path, tables: Sequence[CaseTable]) -> tuple[JointErrors, ...]:
    """The errors of the worst cases that have a record under `folder`: at most six, shared among agents and tasks. A
    record that is gone or holds no joints is passed over."""
    tables = [table for table in tables if table.order != "score"]
    if not tables:
        return ()
    each = max(1, MAPS // len(tables))
    found = (errors for table in tables for errors in islice(_of_table(folder, table, each), each))
    return tuple(islice(found, MAPS))


def _of_table(folder: Path, table: CaseTable, each: int) -> Iterator[JointErrors]:
    for case in table.cases[: 2 * each]:
        if case.npz is not None and (errors := _of_case(folder, table, case)) is not None:
            yield errors


def _of_case(folder: Path, table: CaseTable, case: Case) -> JointErrors | None:
    assert case.npz is not None
    try:
        arrays = _read(folder / case.npz)
        episode = Episode(arrays, Outcome.TRUNCATED, max_steps=1)
        tracks, options = episode_tracks(episode), episode_options(episode)
    except (OSError, ValueError, KeyError, BadZipFile, InputError):
        return None
    if tracks is None or tracks[0].joint_pos is None or tracks[1].joint_pos is None:
        return None
    clock = options.dt_s is not None
    options = options if clock else replace(options, dt_s=1.0)
    agent, reference = tracks[0].joint_pos, tracks[1].joint_pos
    n = min(len(agent), len(reference))
    names = arrays.get("joint_names", np.array([f"joint {i}" for i in range(agent.shape[1])]))
    return JointErrors(
        agent=table.agent,
        task=table.task,
        case=case.case,
        npz=case.npz,
        joints=tuple(str(name) for name in names),
        errors=binned(np.abs(agent[:n] - reference[:n]), BINS),
        duration=n * (options.dt_s or 1.0),
        first_fall=frame_metrics(*tracks, options).get("first_fall_s"),
        unit="s" if clock else "frames",
    )


def _read(path: Path) -> dict[str, np.ndarray]:
    """What a map needs of a record; pictures and the like stay on disk."""
    wanted = {f"{prefix}{name}" for name in RECORDED.values() for prefix in ("", "first.", "reference.")}
    with np.load(path, allow_pickle=False) as record:
        names = [n for n in record.files if n in wanted | {"joint_names", "action_dt_s"} or n.startswith("tracking.")]
        return {name: record[name] for name in names}


def binned(values: np.ndarray, bins: int) -> np.ndarray:
    """Means (D, at most `bins`) of frames (T, D) over stretches of equal length; NaN where a stretch has one."""
    edges = np.unique(np.linspace(0, len(values), min(bins, len(values)) + 1).round().astype(int))
    sums = np.add.reduceat(values, edges[:-1], axis=0)
    return (sums / np.diff(edges)[:, None]).T


def scale_of(maps: Sequence[JointErrors]) -> float:
    """The error that gets the darkest colour in all maps: the 99th percentile, in rad."""
    known = np.concatenate([m.errors.ravel() for m in maps])
    known = known[np.isfinite(known)]
    top = float(np.percentile(known, 99)) if known.size else 0.0
    return top if top > 0 and math.isfinite(top) else 1.0
