"""Collecting success visuals: which frames, that stopping loses nothing, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from goal_rooms import CORNERS, HERE, MODEL, RoomModel, goals_config, room_task

from proctor import ConfigError, InputError
from proctor.suites.goals import collect as collecting
from proctor.suites.goals.collect import Collected, collect
from proctor.suites.goals.config import load_goals
from proctor.suites.goals.frames import chosen_frames, window_frames
from proctor.suites.goals.visuals import read_visuals


def collected_with(folder: Path, overrides: list[str] | None = None, **goals: Any) -> Collected:
    return collect(*load_goals(goals_config(folder, **goals), overrides or []))


# Which frames ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rewards", "last", "best", "expected"),
    [
        ([0, 0, 0, 0], 2, False, {3: False, 4: False}),
        ([0, 5, 0, 5], 2, True, {2: True, 3: False, 4: False}),
        ([0, 0, 0, 5], 2, True, {3: False, 4: True}),
        ([0, 1], 5, True, {1: False, 2: True}),
        ([3, 1], 0, True, {1: True}),
        ([], 5, True, {0: True}),
    ],
)
def test_the_last_frames_and_the_best(rewards: list[float], last: int, best: bool, expected: dict[int, bool]) -> None:
    assert chosen_frames(np.array(rewards, float), last, best) == expected


def test_a_window_ends_at_its_frame_and_begins_with_the_first_there_is() -> None:
    assert window_frames(5, 1) == [5]
    assert window_frames(5, 3) == [3, 4, 5]
    assert window_frames(1, 4) == [0, 0, 0, 1]


def test_pictures_are_of_the_corner_that_was_reached(collected: Path) -> None:
    visuals = read_visuals(collected)
    assert visuals.space == RoomModel.space
    for corner, (x, y) in CORNERS.items():
        own = visuals.tasks[corner]
        assert own.n_trials == 4
        assert own.by_trial.seed.tolist() == [123, 124, 125, 126]
        assert set(np.unique(own.step)) == {8, 9, 10, 11, 12}
        assert own.frames.shape == (20, 17, 17, 3)
        right, left, up, down, _ = own.goal
        assert (np.sign(right - left), np.sign(up - down)) == (x, y)


def test_a_video_encoder_gets_windows(tmp_path: Path) -> None:
    kwargs = {"window": 4}
    done = collected_with(tmp_path, model={"target": MODEL, "kwargs": kwargs}, select={"last": 2, "best": False})
    assert done.visuals is not None
    own = done.visuals.tasks["north-east"]
    assert len(own.trial) == 8
    assert done.visuals.encoder["window"] == 4


# Going on -------------------------------------------------------------------------------------------------------------


def test_a_stop_while_encoding_loses_nothing(tmp_path: Path, collected: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = collecting.pictures_of, []

    def stops(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(collecting, "pictures_of", stops)
    with pytest.raises(KeyboardInterrupt):
        collected_with(tmp_path)
    calls.clear()
    calls += [1] * 10
    done = collected_with(tmp_path)
    assert len(calls) == 10 + 16 - 5
    assert done.visuals is not None
    assert done.visuals.files_hash == read_visuals(collected).files_hash
    before = len(calls)
    collected_with(tmp_path)
    assert len(calls) == before


def test_more_trials_are_added_to_what_is_there(tmp_path: Path, collected: Path) -> None:
    collected_with(tmp_path, ["n_trials=2"])
    done = collected_with(tmp_path)
    assert done.visuals is not None
    assert done.visuals.files_hash == read_visuals(collected).files_hash


def test_a_folder_of_another_encoder_is_refused(tmp_path: Path) -> None:
    collected_with(tmp_path, ["n_trials=1"])
    with pytest.raises(InputError, match=r"were made otherwise \(space: room/pictures there, other here"):
        collected_with(tmp_path, ["n_trials=1"], model={"target": MODEL, "kwargs": {"space": "other"}})
    with pytest.raises(InputError, match=r"select: .*'last': 5.* there, .*'last': 1"):
        collected_with(tmp_path, ["n_trials=1"], select={"last": 1})
    with pytest.raises(InputError, match=r"base_seed changed since .* was begun"):
        collected_with(tmp_path, ["n_trials=1", "base_seed=5"])


def test_a_task_without_success_is_there_and_empty(tmp_path: Path) -> None:
    zero = {"agents": [{"name": "zero", "policy": "zero"}], "tasks": [room_task("north-east")], "n_trials": 2}
    done = collected_with(tmp_path, examination=zero, instructions={"north-east": "go"})
    assert done.visuals is not None
    own = done.visuals.tasks["north-east"]
    assert (own.n_trials, len(own.trial)) == (2, 0)
    with pytest.raises(InputError, match=r'no success visuals of task "north-east" .there are of: none'):
        done.visuals.goal("north-east")


# Refusals -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goals", "words"),
    [
        ({"select": {"last": 0, "best": False}}, "keeps nothing; set one of them"),
        ({"select": {"frames": "camera"}}, "goals.select.frames"),
        ({"modle": "x"}, 'did you mean "model"'),
        ({"k": 0}, "expected at least 1"),
        ({"priors": [{"name": "a", "target": MODEL}, {"name": "a", "target": MODEL}]}, "two priors are named alike"),
        ({"model": f"{HERE}x.py:Model"}, "no such file"),
        ({"accuracy": "cosine"}, "expected one of raw, mean_embedding, shifted"),
    ],
)
def test_wrong_keys_are_found_with_their_line(tmp_path: Path, goals: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as error:
        load_goals(goals_config(tmp_path, **goals))
    assert "goals.yml:" in str(error.value)


def test_a_config_without_the_section_says_what_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "plain.yml"
    path.write_text("agents: [{policy: random}]\ntasks: [CartPole-v1]\n")
    with pytest.raises(InputError, match="has no section `goals`; it names at least the encoder"):
        load_goals(path)


def test_instructions_of_unknown_tasks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"goals.instructions names cellar; expected tasks: north-east"):
        load_goals(goals_config(tmp_path, instructions={"cellar": "go down"}))


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ("observation", r"is float32 \(2,\); expected uint8 .height, width, 3."),
        ("observation.camera", 'has no entry "camera" .it has no entries'),
    ],
)
def test_observations_that_are_no_pictures_are_refused(tmp_path: Path, frames: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        collected_with(tmp_path, ["n_trials=1"], select={"frames": frames})
