"""The chosen trials as a data set of LeRobot, in its format 3.0: what policies saw and did, to look at and to train on.

Needs the extra `lerobot-export` (pyarrow, and PyAV for films); LeRobot itself is not needed. Every episode of such a
set has the same features at the same rate, so trials of one task are chosen, or of tasks that are alike in that.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import InputError, optional
from proctor.runs.export.chosen import OBSERVED, Episodes, Recorded, film_of

VERSION = "v3.0"
DATA = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
CAMERA = "observation.images.film"
FPS = 30
"""Of environments without a clock."""
_NAMES = {"actions": "action", "rewards": "next.reward", "success": "next.success", OBSERVED: "observation.state"}
_COUNTED = ("timestamp", "frame_index", "episode_index", "index", "task_index")


@dataclass(frozen=True)
class _Feature:
    """One number or one row of numbers per step. What is not flat becomes flat."""

    dtype: str
    size: int

    def described(self) -> dict[str, Any]:
        return {"dtype": self.dtype, "shape": [self.size], "names": None}


def write_lerobot(episodes: Episodes, folder: Path) -> list[str]:
    """Write the data set into a new folder; what it says of what was left out. Raises InputError where the chosen
    trials have not the same features, naming the first that differs."""
    pa, pq = (
        optional(name, "writing data sets of LeRobot", "lerobot-export") for name in ("pyarrow", "pyarrow.parquet")
    )
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty; name a new folder")
    features, fps, left_out = _common(episodes)
    filmed = all(film_of(episodes.run, result) is not None for result in episodes.results)
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        table, rows = _tables(pa, episodes, features, fps)
        film = _film(episodes, part, fps) if filmed else None
        if film is None:
            left_out.append("films are left out: not every chosen trial has one with a frame for every step (--filmed)")
        else:
            rows = [{**row, **own} for row, own in zip(rows, film.rows, strict=True)]
        _parquet(pq, part / DATA.format(chunk_index=0, file_index=0), table)
        _parquet(pq, part / "meta/episodes/chunk-000/file-000.parquet", pa.Table.from_pylist(rows))
        tasks = list(dict.fromkeys(result.trial.task for result in episodes.results))
        _parquet(pq, part / "meta/tasks.parquet", _tasks(pa, tasks))
        info = _info(features, fps, (len(episodes), table.num_rows, len(tasks)), film)
        _json(part / "meta/info.json", info)
        _json(part / "meta/stats.json", _stats(table, film))
        if folder.exists():
            folder.rmdir()
        part.replace(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return left_out


def _common(episodes: Episodes) -> tuple[dict[str, _Feature], int, list[str]]:
    """The features of the chosen trials, their rate, and what was left out."""
    known: dict[str, _Feature] | None = None
    rate: float | None = None
    first = ""
    wide: dict[str, int] = {}
    for recorded in episodes:
        found = {}
        for name, values in _series(recorded):
            if values.dtype == np.uint8 and values.ndim >= 3:
                wide[name] = int(np.prod(values.shape[1:]))
            else:
                found[name] = _Feature(_dtype(values), max(1, int(np.prod(values.shape[1:]))))
        own = 1 / recorded.dt_s if np.isfinite(recorded.dt_s) and recorded.dt_s > 0 else float(FPS)
        known, rate, first = known or found, rate or own, first or recorded.key
        odd = next((name for name in {**known, **found} if known.get(name) != found.get(name)), None)
        if odd is not None or not np.isclose(own, rate):
            what = f'"{odd}"' if odd is not None else f"steps per second ({own:g} and {rate:g})"
            raise InputError(
                f"{recorded.key} and {first} differ in {what}, and all episodes of a LeRobot data set are alike; "
                "choose trials of one task with --task"
            )
    assert known is not None
    assert rate is not None
    left_out = [f"{name} is left out: its images are no film (record: video)" for name in wide]
    if not np.isclose(rate, round(rate)) or round(rate) < 1:
        left_out.append(f"the set says {max(1, round(rate))} frames per second; the steps are {rate:g} per second")
    return known, max(1, round(rate)), left_out


def _series(recorded: Recorded) -> Iterator[tuple[str, np.ndarray]]:
    """Arrays by the names that they have in LeRobot: what is seen at a step, and what came of it."""
    done = recorded.steps.get("terminals", np.zeros(recorded.n_steps, bool)).copy()
    done[-1:] = True
    for name, values in recorded.observed.items():
        yield _NAMES.get(name, name.replace(f"{OBSERVED}.", "observation.", 1)), values[: recorded.n_steps]
    for name, values in recorded.steps.items():
        if name not in ("terminals", "truncations"):
            yield _NAMES.get(name, f"signal.{name}"), values
    yield "next.done", done


def _dtype(values: np.ndarray) -> str:
    return {"b": "bool", "i": "int64", "u": "int64"}.get(values.dtype.kind, "float32")


def _tables(pa: Any, episodes: Episodes, features: dict[str, _Feature], fps: int) -> tuple[Any, list[dict[str, Any]]]:
    """A row for every step of every trial, and a row for every trial."""
    tasks: dict[str, int] = {}
    parts, rows, start = [], [], 0
    for number, recorded in enumerate(episodes):
        n, trial = recorded.n_steps, recorded.result.trial
        task = tasks.setdefault(trial.task, len(tasks))
        columns = {name: _column(pa, values, features[name]) for name, values in _series(recorded) if name in features}
        counted = (np.arange(n) / fps, np.arange(n), np.full(n, number), np.arange(start, start + n), np.full(n, task))
        for name, values in zip(_COUNTED, counted, strict=True):
            columns[name] = pa.array(values.astype(np.float32 if name == "timestamp" else np.int64))
        parts.append(pa.table(columns))
        rows.append({
            "episode_index": number, "tasks": [trial.task], "length": n,
            "data/chunk_index": 0, "data/file_index": 0,
            "dataset_from_index": start, "dataset_to_index": start + n,
            "meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0,
            "proctor/agent": trial.agent, "proctor/trial": trial.key, "proctor/seed": str(trial.seed),
            "proctor/outcome": str(recorded.result.outcome),
        })  # fmt: skip
        start += n
    return pa.concat_tables(parts), rows


def _column(pa: Any, values: np.ndarray, feature: _Feature) -> Any:
    flat = pa.array(np.ascontiguousarray(values.reshape(-1).astype(feature.dtype)))
    return flat if feature.size == 1 else pa.FixedSizeListArray.from_arrays(flat, feature.size)


def _tasks(pa: Any, names: Sequence[str]) -> Any:
    """Tasks by name: the column that pandas takes for the index of the table."""
    table = pa.table({"task_index": pa.array(range(len(names)), pa.int64()), "task": pa.array(names)})
    column = {"numpy_type": "object", "pandas_type": "unicode", "metadata": None}
    number = {"numpy_type": "int64", "pandas_type": "int64", "metadata": None}
    about = {
        "index_columns": ["task"],
        "column_indexes": [],
        "columns": [
            {"name": "task_index", "field_name": "task_index", **number},
            {"name": "task", "field_name": "task", **column},
        ],
        "pandas_version": "2.0.0",
    }
    return table.replace_schema_metadata({"pandas": json.dumps(about)})


@dataclass(frozen=True)
class _Film:
    """The films of all trials in one file: where each begins and ends in it, and its size and mean colour."""

    rows: list[dict[str, Any]]
    height: int
    width: int
    fps: int
    mean: np.ndarray
    std: np.ndarray
    count: int


def _film(episodes: Episodes, folder: Path, fps: int) -> _Film | None:
    """Write the films; None where one has not a frame for every step."""
    from proctor.record.video import VideoWriter, require_video

    av = require_video()
    writer = VideoWriter(folder / VIDEO.format(video_key=CAMERA, chunk_index=0, file_index=0), fps)
    rows: list[dict[str, Any]] = []
    start, total, squares, pixels, size = 0, np.zeros(3), np.zeros(3), 0, (0, 0)
    try:
        for recorded in episodes:
            path, n = film_of(episodes.run, recorded.result), 0
            with av.open(str(path)) as film:
                for frame in film.decode(video=0):
                    if n == recorded.n_steps:
                        break
                    image = frame.to_ndarray(format="rgb24")
                    if size not in ((0, 0), image.shape[:2]):
                        return None
                    size, n = image.shape[:2], n + 1
                    writer.add(image)
                    some = image[::8, ::8].reshape(-1, 3) / 255
                    total, squares, pixels = total + some.sum(0), squares + (some**2).sum(0), pixels + len(some)
            if n < recorded.n_steps:
                return None
            rows.append({
                f"videos/{CAMERA}/chunk_index": 0, f"videos/{CAMERA}/file_index": 0,
                f"videos/{CAMERA}/from_timestamp": start / fps, f"videos/{CAMERA}/to_timestamp": (start + n) / fps,
            })  # fmt: skip
            start += n
        mean = total / max(1, pixels)
        std = np.sqrt(np.maximum(0, squares / max(1, pixels) - mean**2))
        return _Film(rows, size[0], size[1], fps, mean, std, start) if writer.close() else None
    finally:
        writer.discard()


def _info(features: dict[str, _Feature], fps: int, totals: tuple[int, int, int], film: _Film | None) -> dict[str, Any]:
    described = {name: feature.described() for name, feature in features.items()}
    if film is not None:
        height, width = film.height // 2 * 2, film.width // 2 * 2
        described[CAMERA] = {
            "dtype": "video",
            "shape": [height, width, 3],
            "names": ["height", "width", "channels"],
            "info": {
                "video.height": height, "video.width": width, "video.codec": "h264", "video.pix_fmt": "yuv420p",
                "video.is_depth_map": False, "video.fps": fps, "video.channels": 3, "has_audio": False,
            },
        }  # fmt: skip
    described["timestamp"] = _Feature("float32", 1).described()
    described |= {name: _Feature("int64", 1).described() for name in _COUNTED[1:]}
    n_episodes, n_frames, n_tasks = totals
    return {
        "codebase_version": VERSION, "robot_type": None, "total_episodes": n_episodes, "total_frames": n_frames,
        "total_tasks": n_tasks, "chunks_size": 1000, "data_files_size_in_mb": 100, "video_files_size_in_mb": 200,
        "fps": fps, "splits": {"train": f"0:{n_episodes}"}, "data_path": DATA,
        "video_path": VIDEO if film is not None else None, "features": described,
    }  # fmt: skip


def _stats(table: Any, film: _Film | None) -> dict[str, Any]:
    """Least, largest, mean, spread and number of each feature's values, and of colours from 0 to 1."""
    found: dict[str, Any] = {}
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        values = np.asarray(column.flatten() if hasattr(column, "flatten") else column).reshape(table.num_rows, -1)
        numbers = values.astype(np.float64)
        parts = {"min": numbers.min(0), "max": numbers.max(0), "mean": numbers.mean(0), "std": numbers.std(0)}
        found[name] = {**{kind: own.tolist() for kind, own in parts.items()}, "count": [table.num_rows]}
    if film is not None:
        ends = {"min": np.zeros(3), "max": np.ones(3), "mean": film.mean, "std": film.std}
        found[CAMERA] = {**{kind: own.reshape(3, 1, 1).tolist() for kind, own in ends.items()}, "count": [film.count]}
    return found


def _parquet(pq: Any, path: Path, table: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


def _json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
