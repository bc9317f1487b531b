"""Success visuals on disk: what is written is read, trials count once, older pickles are read without being run."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor.errors import InputError
from proctor.suites.goals.metrics.embeddings import Embeddings, SpaceMismatch
from proctor.suites.goals.older import added, read_grouped_pickle, read_pickles
from proctor.suites.goals.visuals import (
    INDEX,
    STATE,
    TaskVisuals,
    Visuals,
    empty_task,
    read_visuals,
    write_visuals,
)


def task(vectors: list[list[float]], trial: list[int]) -> TaskVisuals:
    rows = np.array(vectors, np.float32)
    n = len(rows)
    frames = np.arange(n * 12, dtype=np.uint8).reshape(n, 2, 2, 3)
    return TaskVisuals(
        Embeddings(rows, "s"), np.array(trial), np.array(trial) + 100, np.arange(n), np.zeros(n, bool), frames, "go", 9
    )


def test_a_folder_holds_what_was_written(tmp_path: Path) -> None:
    own = task([[1, 2], [3, 4], [5, 6]], [0, 0, 1])
    given = Visuals("s", {"north/east": own, "none": empty_task("s", 2, "stay", 3)}, {"hash": "h"}, {"last": 5})
    write_visuals(tmp_path, given)
    found = read_visuals(tmp_path)
    assert (found.space, dict(found.encoder), dict(found.selection)) == ("s", {"hash": "h"}, {"last": 5})
    for name in ("trial", "seed", "step", "best", "frames"):
        assert (getattr(found.tasks["north/east"], name) == getattr(own, name)).all()
    assert (found.tasks["north/east"].embeddings.vectors == own.embeddings.vectors).all()
    assert found.tasks["none"].n_trials == 3
    assert found.files_hash == given.files_hash
    entry = json.loads((tmp_path / INDEX).read_text())["tasks"]["north/east"]
    assert (entry["n_trials"], entry["n_success"], entry["n_windows"], entry["seeds"]) == (9, 2, 3, [100, 101])


def test_nothing_in_the_folder_is_a_pickle(tmp_path: Path) -> None:
    write_visuals(tmp_path, Visuals("s", {"a": task([[1, 2]], [0])}))
    for path in tmp_path.glob("*.npz"):
        with np.load(path, allow_pickle=False) as arrays:
            assert {"embeddings", "frames", "trial", "seed", "step", "best"} == set(arrays)


def test_a_trial_counts_once_however_many_windows_it_has() -> None:
    own = task([[1, 0], [0, 3], [2, 0]], [0, 0, 1])
    by_trial = own.by_trial
    assert by_trial.trial.tolist() == [0, 1]
    assert by_trial.embeddings.vectors == pytest.approx(np.array([[2**0.5, 2**0.5], [2, 0]]))
    assert (by_trial.frames == own.frames[[1, 2]]).all()
    angle = np.pi / 8
    assert own.goal == pytest.approx(2 * np.array([np.cos(angle), np.sin(angle)]), abs=1e-6)


@pytest.mark.parametrize("damage", ["index", "version", "npz", "rows"])
def test_damage_is_named(tmp_path: Path, damage: str) -> None:
    write_visuals(tmp_path, Visuals("s", {"a": task([[1, 2]], [0])}))
    index, npz = tmp_path / INDEX, next(tmp_path.glob("*.npz"))
    words = {
        "index": "cannot be read",
        "version": "is not of version 1",
        "npz": 'visuals of task "a" cannot be read',
        "rows": "has 1 windows, and visuals.json says 4",
    }
    if damage == "index":
        index.write_text("{")
    elif damage == "npz":
        npz.write_bytes(b"no zip")
    else:
        changed = ("version", "version") if damage == "version" else ("n_windows", "n_windows")
        index.write_text(index.read_text().replace(f'"{changed[0]}": 1', f'"{changed[1]}": 4'))
    with pytest.raises(InputError, match=words[damage]):
        read_visuals(tmp_path)


def test_an_empty_folder_says_how_to_fill_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no success visuals in .* collect them with `proctor goals collect CONFIG`"):
        read_visuals(tmp_path)


# Older pickles --------------------------------------------------------------------------------------------------------

EMBEDS = [np.arange(4, dtype=np.float32) + 1, np.ones((1, 4), np.float64)]


def dumped(path: Path, value: Any) -> Path:
    path.write_bytes(pickle.dumps(value))
    return path


def test_the_grouped_form_and_the_form_of_one_task(tmp_path: Path) -> None:
    one = {"task_id": "log", "instruction": "chop tree", "success_visual_embeds": EMBEDS, "success_frames": []}
    grouped = {"log": one, "dirt": {"instruction": "dig", "success_visual_embeds": EMBEDS[:1], "embed_dim": 4}}
    found = read_grouped_pickle(dumped(tmp_path / "all.pkl", grouped), "mineclip/video")
    assert found.space == "mineclip/video"
    assert {name: own.embeddings.vectors.shape for name, own in found.tasks.items()} == {"log": (2, 4), "dirt": (1, 4)}
    assert found.tasks["log"].instruction == "chop tree"
    alone = read_grouped_pickle(dumped(tmp_path / "log.pkl", one), "mineclip/video")
    assert (alone.tasks["log"].embeddings.vectors == found.tasks["log"].embeddings.vectors).all()
    write_visuals(tmp_path / "visuals", found)
    assert read_visuals(tmp_path / "visuals").files_hash == found.files_hash


class Bomb:
    def __reduce__(self) -> Any:
        return os.getcwd, ()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"a": {"success_visual_embeds": Bomb()}}, "which could run code"),
        ([1, 2], "holds a list; expected a mapping of tasks"),
        ({}, "holds an empty mapping"),
        ({"a": {"instruction": "x"}}, 'task "a": found a dict; expected a mapping with `success_visual_embeds`'),
        ({"a": {"success_visual_embeds": []}}, "is empty; leave the task out"),
        ({"a": {"success_visual_embeds": [np.ones(3), np.ones(4)]}}, r"embeddings of \[3, 4\] numbers"),
        (
            {"a": {"success_visual_embeds": [np.ones(3)]}, "b": {"success_visual_embeds": [np.ones(4)]}},
            r"tasks have embeddings of \[3, 4\] dimensions",
        ),
        ({"a": {"success_visual_embeds": [np.full(3, np.nan)]}}, "NaN or infinity"),
    ],
)
def test_other_pickles_are_refused(tmp_path: Path, value: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_grouped_pickle(dumped(tmp_path / "x.pkl", value), "s")


def test_a_missing_pickle_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file .*gone.pkl"):
        read_grouped_pickle(tmp_path / "gone.pkl", "s")


def test_a_folder_has_a_file_for_each_task(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    with pytest.raises(InputError, match=r"old has no .pkl or .pickle files; expected one for each task"):
        read_pickles(old, "s")
    dumped(old / "harvest_1_log.pkl", {"instruction": "chop tree", "success_visual_embeds": EMBEDS})
    dumped(old / "mine.pkl", {"task_id": "mine_1_diamond", "success_visual_embeds": EMBEDS[:1]})
    (old / "notes.txt").write_text("not a pickle")
    found = read_pickles(old, "s")
    assert {name: len(own.trial) for name, own in found.tasks.items()} == {"harvest_1_log": 2, "mine_1_diamond": 1}
    dumped(old / "mine_1_diamond.pkl", {"success_visual_embeds": EMBEDS})
    with pytest.raises(InputError, match=r'mine.pkl and .*mine_1_diamond.pkl both hold task "mine_1_diamond"'):
        read_pickles(old, "s")
    (old / "mine_1_diamond.pkl").unlink()
    dumped(old / "other.pkl", {"success_visual_embeds": [np.ones(3)]})
    with pytest.raises(InputError, match=r"old: tasks have embeddings of \[3, 4\] dimensions"):
        read_pickles(old, "s")


def frames_of(*sizes: tuple[int, int]) -> list[np.ndarray]:
    return [np.full((*size, 3), 10 * number, np.uint8) for number, size in enumerate(sizes, 1)]


@pytest.mark.parametrize(
    ("frames", "levels"),
    [
        ([frames_of((128, 64), (128, 64)), frames_of((128, 64))], [20, 10]),
        ([np.stack(frames_of((32, 16), (32, 16))), frames_of((40, 20))], [20, 10]),
        (frames_of((32, 16), (32, 16)), [10, 20]),
        ([frames_of((32, 16)), []], []),
        ([], []),
    ],
)
def test_the_last_picture_of_every_trial_is_kept_small(tmp_path: Path, frames: Any, levels: list[int]) -> None:
    told = {"task_id": "log", "success_visual_embeds": EMBEDS, "success_frames": frames}
    own = read_grouped_pickle(dumped(tmp_path / "log.pkl", told), "s").tasks["log"]
    assert [int(picture.max()) for picture in own.frames] == levels
    assert max(own.frames.shape[1:3]) <= 64
    write_visuals(tmp_path / "visuals", Visuals("s", {"log": own}))
    assert (read_visuals(tmp_path / "visuals").tasks["log"].frames == own.frames).all()


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ([frames_of((8, 8))], "`success_frames` are of 1 trials and `success_visual_embeds` of 2"),
        ([[np.zeros((8, 8, 3))]] * 2, r'task "a", trial 0: a picture of `success_frames` is float64 \(8, 8, 3\)'),
        ([[np.zeros((8, 8), np.uint8)]] * 2, r"is uint8 \(8, 8\); expected uint8 \(height, width, 3\)"),
        ([3, 4], "`success_frames` are no pictures"),
    ],
)
def test_frames_that_are_no_pictures_are_refused(tmp_path: Path, frames: Any, words: str) -> None:
    told = {"a": {"success_visual_embeds": EMBEDS, "success_frames": frames}}
    with pytest.raises(InputError, match=words):
        read_grouped_pickle(dumped(tmp_path / "a.pkl", told), "s")


def test_spaces_and_collected_folders_are_kept_apart(tmp_path: Path) -> None:
    write_visuals(tmp_path, Visuals("s", {"a": task([[1, 2]], [0])}))
    with pytest.raises(SpaceMismatch, match="holds success visuals of the space s, and these are of the space t"):
        added(tmp_path, Visuals("t", {}))
    with pytest.raises(InputError, match=r"tasks have embeddings of \[2, 4\] dimensions"):
        added(tmp_path, Visuals("s", {"b": empty_task("s", 4, "", 0)}))
    (tmp_path / STATE).write_text("{}")
    with pytest.raises(InputError, match="was filled by `proctor goals collect`"):
        added(tmp_path, Visuals("s", {}))
