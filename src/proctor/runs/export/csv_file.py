"""Every recorded number of the chosen trials in one CSV file: a row for each step."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from proctor.record.files import begin
from proctor.runs.export.chosen import Episodes, Recorded, numbered

WIDEST = 4096
"""Numbers in a row of an array, beyond which it is an image rather than a signal, and left out."""
_FIRST = ("agent", "task", "index", "seed", "outcome", "step", "time_s")


def write_csv(episodes: Episodes, path: Path) -> list[str]:
    """Write the file; what it says of each array that was left out. What an agent or a task did not record is empty.
    Time is that of the end of a step, in simulated seconds; an observation is what the policy saw before it."""
    columns, left_out = _columns(episodes)
    temporary = path.with_name(path.name + ".tmp")
    path.parent.mkdir(parents=True, exist_ok=True)
    begin(temporary)
    try:
        with open(temporary, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([*_FIRST, *columns])
            for recorded in episodes:
                writer.writerows(_rows(recorded, columns))
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return [f"{name} is left out: a row of it has {size:,} numbers" for name, size in left_out.items()]


def _columns(episodes: Episodes) -> tuple[list[str], dict[str, int]]:
    """The columns of all chosen trials, and the arrays that are too wide, with their sizes."""
    columns: dict[str, None] = {}
    left_out: dict[str, int] = {}
    for recorded in episodes:
        for name, values in _series(recorded):
            if (size := int(np.prod(values.shape[1:]))) > WIDEST:
                left_out[name] = size
            else:
                columns |= dict.fromkeys(column for column, _ in numbered(name, values))
    return list(columns), left_out


def _series(recorded: Recorded) -> Iterator[tuple[str, np.ndarray]]:
    yield from recorded.steps.items()
    for name, values in recorded.observed.items():
        yield name, values[: recorded.n_steps]


def _rows(recorded: Recorded, columns: list[str]) -> Iterator[list[object]]:
    trial = recorded.result.trial
    found = {
        column: (own.astype(np.uint8) if own.dtype == bool else own).tolist()
        for name, values in _series(recorded)
        if np.prod(values.shape[1:]) <= WIDEST
        for column, own in numbered(name, values)
    }
    start = [trial.agent, trial.task, trial.index, trial.seed, str(recorded.result.outcome)]
    empty = [""] * recorded.n_steps
    parts = [found.get(column, empty) for column in columns]
    for step in range(recorded.n_steps):
        time_s = round((step + 1) * recorded.dt_s, 9) if np.isfinite(recorded.dt_s) else ""
        yield [*start, step + 1, time_s, *(part[step] for part in parts)]
