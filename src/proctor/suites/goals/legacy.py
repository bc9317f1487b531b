"""Success visuals of older systems: one pickle, grouped by task.

    {task: {"instruction": text, "success_visual_embeds": [array (d,), ...], ...}}

or one task to a file, which then names itself under `task_id`. A restricted unpickler reads it, which runs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.suites.goals.metrics.embeddings import Embeddings
from proctor.suites.goals.visuals import TaskVisuals, Visuals
from proctor.unpickle import read_pickle

EMBEDS = "success_visual_embeds"


def read_grouped_pickle(path: Path, space: str) -> Visuals:
    """The visuals in a pickle; each embedding is of a trial. `space` names the encoder that made them, which the file
    does not say. Raises InputError for anything else."""
    if not path.is_file():
        raise InputError(f"no file {path}")
    data = read_pickle(path)
    groups = {str(data["task_id"]): data} if isinstance(data, Mapping) and EMBEDS in data else data
    if not isinstance(groups, Mapping) or not groups:
        raise InputError(f"{path} holds {_kind(groups)}; expected a mapping of tasks with `{EMBEDS}`")
    tasks = {str(name): _task(str(name), group, path, space) for name, group in groups.items()}
    dims = {own.embeddings.dim for own in tasks.values()}
    if len(dims) > 1:
        raise InputError(f"{path}: tasks have embeddings of {sorted(dims)} dimensions; expected one encoder for all")
    return Visuals(space, tasks, {"source": path.name}, {"source": "grouped pickle"})


def _task(name: str, group: Any, path: Path, space: str) -> TaskVisuals:
    where = f'{path}, task "{name}"'
    if not isinstance(group, Mapping) or EMBEDS not in group:
        raise InputError(f"{where}: found {_kind(group)}; expected a mapping with `{EMBEDS}`")
    rows = [np.asarray(row, dtype=np.float32).reshape(-1) for row in group[EMBEDS]]
    if not rows:
        raise InputError(f"{where}: `{EMBEDS}` is empty; leave the task out of the file")
    if len({len(row) for row in rows}) > 1:
        raise InputError(f"{where}: embeddings of {sorted({len(row) for row in rows})} numbers; expected one length")
    n = len(rows)
    unknown = np.full(n, -1, dtype=np.int64)
    own = TaskVisuals(
        Embeddings(np.stack(rows), space),
        np.arange(n),
        unknown,
        unknown,
        np.zeros(n, bool),
        np.empty((0, 1, 1, 3), np.uint8),
        str(group.get("instruction", "")),
    )
    assert own.embeddings.units.shape == own.embeddings.vectors.shape
    return own


def _kind(value: Any) -> str:
    return "an empty mapping" if isinstance(value, Mapping) and not value else f"a {type(value).__name__}"
