"""Success visuals of older systems: pickles, which are read without running anything, and added to a folder.

A pickle holds all tasks, or one of them; a folder holds `{task}.pkl` of each:

    {task: {"instruction": text, "success_visual_embeds": [array (d,), ...], "success_frames": [[picture, ...], ...]}}
    {"task_id": task, "instruction": text, "success_visual_embeds": [...], "success_frames": [...]}

Each embedding is of a trial. `success_frames` may be left out: pictures of a trial, uint8 (height, width, 3), one or
several; the last is kept, small, for people to look at.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.images import resize
from proctor.suites.goals.metrics.embeddings import Embeddings, SpaceMismatch
from proctor.suites.goals.visuals import INDEX, STATE, TaskVisuals, Visuals, read_visuals
from proctor.unpickle import read_pickle

EMBEDS, FRAMES = "success_visual_embeds", "success_frames"
ENDINGS = (".pkl", ".pickle")
PICTURE_PX = 64
"""The longer side of the pictures that are kept."""


def read_pickles(path: Path, space: str) -> Visuals:
    """The visuals in a pickle, or in all pickles of a folder. `space` names the encoder that made them, which the files
    do not say. Raises InputError for anything else."""
    if not os.path.isdir(path):
        return read_grouped_pickle(path, space)
    files = sorted(file for file in path.iterdir() if file.suffix in ENDINGS and file.is_file())
    if not files:
        raise InputError(f"{path} has no {' or '.join(ENDINGS)} files; expected one for each task")
    tasks: dict[str, TaskVisuals] = {}
    homes: dict[str, Path] = {}
    for file in files:
        for name, own in read_grouped_pickle(file, space).tasks.items():
            if name in tasks:
                raise InputError(f'{homes[name]} and {file} both hold task "{name}"; remove one of them')
            tasks[name], homes[name] = own, file
    return Visuals(space, _of_one_encoder(tasks, path), {"source": path.name}, {"source": "folder of pickles"})


def read_grouped_pickle(path: Path, space: str) -> Visuals:
    """The visuals in one pickle of either form; one task without `task_id` is named by its file. Raises InputError for
    anything else."""
    if not os.path.isfile(path):
        raise InputError(f"no file {path}")
    data = read_pickle(path)
    groups: Any = data
    if isinstance(data, Mapping) and EMBEDS in data:
        groups = {str(data.get("task_id", path.stem)): data}
    if not isinstance(groups, Mapping) or not groups:
        raise InputError(f"{path} holds {_kind(groups)}; expected a mapping of tasks with `{EMBEDS}`")
    tasks = {str(name): _task(group, f'{path}, task "{name}"', space) for name, group in groups.items()}
    return Visuals(space, _of_one_encoder(tasks, path), {"source": path.name}, {"source": "grouped pickle"})


def _of_one_encoder(tasks: dict[str, TaskVisuals], path: Path) -> dict[str, TaskVisuals]:
    dims = {own.embeddings.dim for own in tasks.values()}
    if len(dims) > 1:
        raise InputError(f"{path}: tasks have embeddings of {sorted(dims)} dimensions; expected one encoder for all")
    return tasks


def _task(group: Any, where: str, space: str) -> TaskVisuals:
    if not isinstance(group, Mapping) or EMBEDS not in group:
        raise InputError(f"{where}: found {_kind(group)}; expected a mapping with `{EMBEDS}`")
    try:
        rows = [_vector(row) for row in group[EMBEDS]]
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError(f"{where}: `{EMBEDS}` are no embeddings: {error}; expected arrays of numbers") from None
    if not rows:
        raise InputError(f"{where}: `{EMBEDS}` is empty; leave the task out of the file")
    if len({len(row) for row in rows}) > 1:
        raise InputError(f"{where}: embeddings of {sorted({len(row) for row in rows})} numbers; expected one length")
    own = TaskVisuals.bare(Embeddings(np.stack(rows), space), str(group.get("instruction", "")))
    assert own.embeddings.units.shape == own.embeddings.vectors.shape
    try:
        return replace(own, frames=_pictures(group.get(FRAMES), len(rows), where))
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: `{FRAMES}` are no pictures: {error}; leave them out, or mend them") from None


def _vector(row: Any) -> np.ndarray:
    found = np.asarray(row)
    if found.dtype.kind not in "fiu":
        raise TypeError(f"found {found.dtype}")
    with np.errstate(over="ignore"):
        return found.astype(np.float32).reshape(-1)


def _pictures(given: Any, trials: int, where: str) -> np.ndarray:
    """The last picture of every trial, small, uint8 (trials, height, width, 3); no rows where the file has none, or not
    of every trial."""
    none = np.empty((0, 1, 1, 3), np.uint8)
    if given is None or len(given) == 0 or any(len(own) == 0 for own in given):
        return none
    if len(given) != trials:
        raise InputError(
            f"{where}: `{FRAMES}` are of {len(given)} trials and `{EMBEDS}` of {trials}; expected as many, or none"
        )
    lasts = [_last(own, f"{where}, trial {number}") for number, own in enumerate(given)]
    height, width = lasts[0].shape[:2]
    scale = min(1.0, PICTURE_PX / max(height, width))
    size = max(1, round(scale * height)), max(1, round(scale * width))
    return np.stack([resize(picture, size) for picture in lasts])


def _last(frames: Any, where: str) -> np.ndarray:
    one = isinstance(frames, np.ndarray) and frames.ndim == 3
    picture = frames if one else np.asarray(frames[-1])
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or 0 in picture.shape:
        raise InputError(
            f"{where}: a picture of `{FRAMES}` is {picture.dtype} {picture.shape}; expected uint8 (height, width, 3)"
        )
    return picture


def _kind(value: Any) -> str:
    return "an empty mapping" if isinstance(value, Mapping) and not value else f"a {type(value).__name__}"


def added(folder: Path, new: Visuals, *, replace_tasks: bool = False) -> Visuals:
    """What a folder of imported visuals holds once `new` is in it: its own tasks, and the new ones. A task that it has
    already stays where it is the same, and gives way where `replace_tasks`. Raises InputError where it differs
    otherwise, and where the folder was collected; SpaceMismatch where it is of another space."""
    if not (folder / INDEX).exists():
        return new
    if (folder / STATE).exists():
        raise InputError(
            f"{folder} was filled by `proctor goals collect`, with an encoder that is known; import into another folder"
        )
    known = read_visuals(folder)
    if known.space != new.space:
        raise SpaceMismatch(
            f"{folder} holds success visuals of the space {known.space}, and these are of the space {new.space}; "
            "import them into another folder"
        )
    differing = [task for task, own in new.tasks.items() if task in known.tasks and not _same(known.tasks[task], own)]
    if differing and not replace_tasks:
        raise InputError(
            f"{folder} has other success visuals of {', '.join(differing)}; --replace puts these in their place, or "
            "import them into another folder"
        )
    tasks = _of_one_encoder({**known.tasks, **new.tasks}, folder)
    sources = dict.fromkeys([*_sources(known), *_sources(new)])
    return Visuals(new.space, tasks, {"source": ", ".join(sources)}, new.selection)


def _sources(visuals: Visuals) -> list[str]:
    return [name for name in str(visuals.encoder.get("source", "")).split(", ") if name]


def _same(one: TaskVisuals, other: TaskVisuals) -> bool:
    return np.array_equal(one.embeddings.vectors, other.embeddings.vectors)
