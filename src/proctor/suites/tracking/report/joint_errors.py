"""Joint errors over time, of the worst cases of motion tracking, read from their records.

The work is bounded: a few records, of which only the arrays of tracking are read, and a fixed number of bins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np

from proctor.errors import InputError
from proctor.foreign import read_npz
from proctor.report.model import Case, CaseTable
from proctor.suites.tracking.metrics.frames import frame_metrics
from proctor.suites.tracking.metrics.recorded import RECORDED, episode_options, episode_tracks
from proctor_host.episode import Episode, Outcome

MAPS, BINS = 6, 80
ORDER = "emd"
"""The metric that motions are ordered by, the largest first."""


@dataclass(frozen=True)
class JointErrors:
    """Absolute joint error of one recorded episode over time: `errors` (joints, bins) in rad, means over bins of
    equal length. `duration` and `first_fall` (None where the agent never fell) are in `unit`: seconds, or frames of an
    environment without a clock."""

    agent: str
    task: str
    case: str
    npz: str
    joints: tuple[str, ...]
    errors: np.ndarray
    duration: float
    first_fall: float | None
    unit: Literal["s", "frames"]

    def keys(self) -> dict[str, Any]:
        """For `report.json`: mean and largest error of every joint, the worst first."""
        means, tops = self.errors.mean(axis=1).tolist(), self.errors.max(axis=1).tolist()
        joints = sorted(zip(self.joints, means, tops, strict=True), key=lambda joint: (-joint[1], joint[0]))
        return {
            "agent": self.agent,
            "task": self.task,
            "case": self.case,
            "npz": self.npz,
            "first_fall": self.first_fall,
            "duration": self.duration,
            "unit": self.unit,
            "joints": [{"joint": name, "mean_rad": mean, "max_bin_rad": top} for name, mean, top in joints],
        }


def read_joint_errors(folder: Path, tables: Sequence[CaseTable]) -> tuple[JointErrors, ...]:
    """The errors of the worst cases that have a record under `folder`: at most six, shared among agents and tasks. A
    record that is gone or holds no joints is passed over."""
    tables = [table for table in tables if table.order == ORDER]
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
    except (OSError, ValueError, KeyError, InputError):
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
    wanted |= {"joint_names", "action_dt_s"}
    return read_npz(path, lambda name: name in wanted or name.startswith("tracking."))


def binned(values: np.ndarray, bins: int) -> np.ndarray:
    """Means (D, at most `bins`) of frames (T, D) over stretches of equal length; NaN where a stretch has one."""
    edges = np.unique(np.linspace(0, len(values), min(bins, len(values)) + 1).round().astype(int))
    sums = np.add.reduceat(values, edges[:-1], axis=0)
    return (sums / np.diff(edges)[:, None]).T
