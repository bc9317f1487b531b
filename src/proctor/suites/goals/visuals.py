"""Success visuals: embeddings of the pictures that success looks like, by task.

A folder holds `visuals.json` (space, encoder and its hash, how pictures were chosen, n and seeds by task) and for every
task an `.npz`: `embeddings` (n, d), `trial`, `seed`, `step`, `best` (n,), and `frames` (n, height, width, 3),
the last frame of each window, small, for people to look at. Nothing in it is a pickle.

The windows of one trial look alike, so a trial counts once: its success embedding is the mean direction of its windows.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from proctor.errors import InputError
from proctor.foreign import read_json, read_npz
from proctor.record.files import write_synced
from proctor.suites.goals.metrics.embeddings import Embeddings, unit_rows
from proctor_host.npz import write_npz

INDEX = "visuals.json"
STATE = "collect.json"
"""In a folder that `proctor goals collect` fills: by which encoder, and how pictures are chosen."""
VERSION = 1
COLUMNS = ("trial", "seed", "step", "best")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class TaskVisuals:
    """The windows of one task, one to a row, sorted by trial and step. `seed` is -1 where it is not known; `frames`
    has no rows where there are no pictures."""

    embeddings: Embeddings
    trial: np.ndarray
    seed: np.ndarray
    step: np.ndarray
    best: np.ndarray
    frames: np.ndarray
    instruction: str = ""
    n_trials: int = 0
    """How many trials were run to get these, failures included; 0 where it is not known."""

    @classmethod
    def bare(cls, embeddings: Embeddings, instruction: str, n_trials: int = 0) -> TaskVisuals:
        """One window to a trial, of which nothing else is known."""
        n = len(embeddings)
        unknown, no_frames = np.full(n, -1, dtype=np.int64), np.empty((0, 1, 1, 3), np.uint8)
        return cls(embeddings, np.arange(n), unknown, unknown, np.zeros(n, bool), no_frames, instruction, n_trials)

    @cached_property
    def by_trial(self) -> TaskVisuals:
        """One row for each trial: the mean direction of its windows at their mean length; its last picture."""
        trials, first, which = np.unique(self.trial, return_index=True, return_inverse=True)
        mean = mean_direction(self.embeddings.vectors, which, len(trials))
        last = np.zeros(len(trials), dtype=np.int64)
        last[which] = np.arange(len(self.trial))
        return TaskVisuals(
            Embeddings(mean, self.embeddings.space), trials, self.seed[first], self.step[last], self.best[last],
            self.frames[last] if len(self.frames) else self.frames, self.instruction, self.n_trials,
        )  # fmt: skip

    @property
    def counts(self) -> dict[str, Any]:
        """How many trials, successes and windows there are, and the seeds of the successes."""
        trials = self.by_trial if len(self.trial) else self
        return {
            "n_trials": self.n_trials,
            "n_success": len(trials.trial),
            "n_windows": len(self.trial),
            "seeds": trials.seed.tolist(),
        }

    @property
    def goal(self) -> np.ndarray:
        """The ground-truth goal, float32 (d,): the mean direction of the trials at their mean length."""
        own = self.by_trial.embeddings.vectors
        return mean_direction(own, np.zeros(len(own), dtype=np.int64), 1)[0].astype(np.float32)


def mean_direction(vectors: np.ndarray, group: np.ndarray, count: int) -> np.ndarray:
    """The mean of unit vectors of every group (count, d), scaled to the mean length of the group's vectors."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    units = unit_rows(vectors.astype(np.float64), "the success visuals")
    sums, sizes = np.zeros((count, vectors.shape[1])), np.bincount(group, minlength=count)
    np.add.at(sums, group, units)
    size = np.bincount(group, weights=lengths, minlength=count) / sizes
    return (unit_rows(sums, "the mean success visual") * size[:, None]).astype(vectors.dtype)


@dataclass(frozen=True, eq=False)
class Visuals:
    """The success visuals of all tasks, of one space."""

    space: str
    tasks: Mapping[str, TaskVisuals]
    encoder: Mapping[str, Any] = field(default_factory=dict)
    """What made the embeddings: `target`, `kwargs`, `hash`, `window`, `frame_size`, and `runtime`, where it lived in
    one (versions of Python and packages, and their hash)."""
    selection: Mapping[str, Any] = field(default_factory=dict)

    def goal(self, task: str) -> np.ndarray:
        """The ground-truth goal of a task, float32 (d,). Raises InputError where the task has no visuals."""
        if task not in self.tasks or not len(self.tasks[task].trial):
            known = ", ".join(name for name, own in self.tasks.items() if len(own.trial)) or "none"
            raise InputError(
                f'there are no success visuals of task "{task}" (there are of: {known}); collect some with '
                "`proctor goals collect`, with more trials or a better agent"
            )
        return self.tasks[task].goal

    @property
    def files_hash(self) -> str:
        """Equal exactly where the embeddings are."""
        digest = hashlib.sha256(self.space.encode())
        for name in sorted(self.tasks):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(self.tasks[name].embeddings.vectors).tobytes())
        return digest.hexdigest()


# Folders --------------------------------------------------------------------------------------------------------------


def task_file(task: str) -> str:
    """The name of a task's file: safe, and unique by a few digits of its hash."""
    safe = re.sub(r"[^A-Za-z0-9.+-]+", "_", task).strip("._")[:60] or "task"
    return f"{safe}-{hashlib.sha256(task.encode()).hexdigest()[:8]}.npz"


def write_visuals(folder: Path, visuals: Visuals) -> None:
    """Write every task's file, then the index: a folder with an index is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, own in visuals.tasks.items():
        columns = {column: np.asarray(getattr(own, column)) for column in COLUMNS}
        arrays = {"embeddings": own.embeddings.vectors, "frames": own.frames, **columns}
        write_npz(folder / task_file(name), arrays)
    index = {
        "version": VERSION,
        "space": visuals.space,
        "encoder": dict(visuals.encoder),
        "selection": dict(visuals.selection),
        "tasks": {
            name: {
                "file": task_file(name),
                "instruction": own.instruction,
                "trials": np.unique(own.trial).tolist(),
                **own.counts,
            }
            for name, own in visuals.tasks.items()
        },
    }
    write_index(folder / INDEX, index)


def write_index(path: Path, index: Mapping[str, Any]) -> None:
    """Write plain data as JSON, whole or not at all."""
    write_synced(path, (json.dumps(index, indent=2, allow_nan=False) + "\n").encode())


def read_index(path: Path, make: Callable[[Any], T], maker: str, missing: str) -> T:
    """What `make` makes of the data in a JSON file that the command `maker` writes. Raises InputError where there is
    none, with the sentence `missing`, or where it is not such a file."""
    try:
        index = read_json(path)
    except FileNotFoundError:
        raise InputError(missing) from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    try:
        return make(index)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(f"{path} is not as `{maker}` writes it: {error!r}") from None


def read_visuals(folder: str | Path) -> Visuals:
    """The visuals of a folder. Raises InputError where it is none, or a file does not fit its index."""
    path = Path(folder)
    missing = (
        f"no success visuals in {path}: it has no {INDEX}; collect them with `proctor goals collect CONFIG`, or "
        "read an older pickle with `proctor goals import`"
    )

    def make(index: Any) -> Visuals:
        if not isinstance(index, dict) or index.get("version") != VERSION:
            raise InputError(f"{path / INDEX} is not of version {VERSION}; collect the visuals again")
        tasks = {name: _read_task(path, name, entry, index["space"]) for name, entry in index["tasks"].items()}
        return Visuals(index["space"], tasks, index["encoder"], index["selection"])

    return read_index(path / INDEX, make, "proctor goals collect", missing)


def _read_task(folder: Path, name: str, entry: Mapping[str, Any], space: str) -> TaskVisuals:
    path = folder / entry["file"]
    try:
        arrays = read_npz(path)
        trial, seed, step, best = (arrays[column] for column in COLUMNS)
        vectors = Embeddings.of(arrays["embeddings"], space)
        own = TaskVisuals(vectors, trial, seed, step, best, arrays["frames"], entry["instruction"], entry["n_trials"])
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f'the visuals of task "{name}" cannot be read: {path}: {error}; collect them again') from None
    if len(own.embeddings) != entry["n_windows"] or len(own.trial) != entry["n_windows"]:
        raise InputError(
            f"{path} has {len(own.embeddings)} windows, and {INDEX} says {entry['n_windows']}; collect them again"
        )
    return own


def empty_task(space: str, dim: int, instruction: str, n_trials: int) -> TaskVisuals:
    """A task without a success."""
    return TaskVisuals.bare(Embeddings(np.empty((0, dim), np.float32), space), instruction, n_trials)
