"""Goal models in another interpreter, and what models raise, here and there: one sentence with the line."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from proctor import ConfigError, InputError
from proctor.suites.goals.collect import describe
from proctor.suites.goals.config import load_goals
from proctor.suites.goals.elsewhere import HostedGoals
from proctor.suites.goals.evaluate import evaluate
from proctor.suites.goals.models import GoalModelCfg, Surroundings, make_goal_model
from proctor.suites.goals.protocol import goals_of, pictures_of, texts_of

MODEL = """
import os

import numpy as np

from proctor.suites.goals import GoalModel


class Spelling(GoalModel):
    space, text_space, frame_size, window = "letters/pictures", "letters/words", (4, 6), 2

    def __init__(self, device, raises="", shape=(8,)):
        if raises == "early":
            raise KeyError("weights")
        self.raises, self.shape, self.pid = raises, shape, os.getpid()

    def embed_goal(self, texts, rng):
        if self.raises in texts:
            raise ValueError("no such word\\nand more")
        if "die" in texts:
            os._exit(3)
        rows = np.array([[text.count(letter) for letter in "aeinorst"] for text in texts], float)
        return rows + 1 + 0.1 * rng.normal(size=(len(texts), *self.shape))

    def encode_frames(self, frames):
        return frames.astype(np.float32).mean(axis=(1, 3, 4)).repeat(2, axis=1)

    def encode_text(self, texts):
        return np.full((len(texts), 8), os.getpid() * 1.0)
"""
HERE = {"python": sys.executable}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "spelling.py"
    path.write_text(MODEL)
    return f"{path}:Spelling"


def made(target: str, runtime: Any = None, **kwargs: Any) -> Any:
    cfg = {"target": target, "kwargs": kwargs, "runtime": runtime}
    return make_goal_model(GoalModelCfg.model_validate(cfg), Surroundings(who='prior "p"'))


def test_a_model_there_answers_as_it_does_here(file: str) -> None:
    here, there = made(file), made(file, HERE)
    assert isinstance(there, HostedGoals)
    for key in ("space", "text_space", "window", "frame_size", "fingerprint"):
        assert getattr(there, key) == getattr(here, key)
    rngs = np.random.default_rng(1), np.random.default_rng(1)
    ours, theirs = (goals_of(m, ["stone", "tree"], rng).vectors for m, rng in zip((here, there), rngs, strict=True))
    assert ours.tobytes() == theirs.tobytes()
    assert rngs[0].random() == rngs[1].random()
    frames = np.random.default_rng(2).integers(0, 255, (3, 2, 4, 6, 3), dtype=np.uint8)
    assert pictures_of(there, frames).vectors.tobytes() == pictures_of(here, frames).vectors.tobytes()
    texts = texts_of(there, ["a"]), texts_of(here, ["a"])
    assert texts[0] is not None
    assert texts[1] is not None
    assert texts[0].vectors[0, 0] != texts[1].vectors[0, 0], "another process"


def test_another_kind_of_generator_is_drawn_from_too(file: str) -> None:
    there = made(file, HERE)
    first, again = (goals_of(there, ["a"], np.random.Generator(np.random.MT19937(1))).vectors for _ in range(2))
    assert (first == again).all()


def test_one_process_for_all_that_name_the_same_model(file: str) -> None:
    one, same, other = made(file, HERE), made(file, HERE), made(file, HERE, raises="x")
    pids = [texts_of(model, ["a"]).vectors[0, 0] for model in (one, same, other)]
    assert pids[0] == pids[1] != pids[2]


@pytest.mark.parametrize("runtime", [None, HERE], ids=["here", "there"])
def test_what_a_model_raises_is_one_sentence(file: str, runtime: Any) -> None:
    words = r"^Spelling.embed_goal raised ValueError: no such word \(spelling.py, line 19\)$"
    with pytest.raises(InputError, match=words):
        goals_of(made(file, runtime, raises="pig"), ["cow", "pig"], np.random.default_rng(0))
    with pytest.raises(InputError, match=r"Spelling.embed_goal gave float64 \(1, 3, 8\); expected floats \(n, d\)"):
        goals_of(made(file, runtime, shape=[3, 8]), ["cow"], np.random.default_rng(0))
    with pytest.raises(
        InputError, match=r"Spelling cannot be made: it raised KeyError: 'weights' \(spelling.py, line "
    ):
        made(file, runtime, raises="early")
    with pytest.raises(InputError, match=r"missing a required argument|unexpected keyword argument 'rises'"):
        made(file, runtime, rises="early")


def test_a_process_that_dies_is_said_and_started_again(file: str) -> None:
    there = made(file, HERE)
    with pytest.raises(
        InputError, match=r"the goal model's process in the interpreter .* ended with exit code 3 .*embed_goal"
    ):
        goals_of(there, ["die"], np.random.default_rng(0))
    assert goals_of(there, ["live"], np.random.default_rng(0)).vectors.shape == (1, 8)


def test_a_model_that_cannot_be_loaded_there_is_one_sentence(file: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'^prior "p" cannot be loaded in the interpreter .*: .*nowhere_at_all'):
        made("nowhere_at_all:Model", HERE)
    with pytest.raises(InputError, match="there is no interpreter /none/python"):
        made(file, {"python": "/none/python"})


def test_references_and_addresses_have_no_runtime(file: str) -> None:
    with pytest.raises(InputError, match="constant is computed here and has no runtime; give one to the model inside"):
        made("constant", HERE, model=file)
    with pytest.raises(ValueError, match=r"found runtime.address; a goal model lives in an interpreter of this"):
        made(file, {"address": "far:1"})


def config(folder: Path, file: str, **goals: Any) -> Path:
    told = {"target": Path(file.partition(":")[0]).name + ":Spelling", "runtime": {"python": "./python-of-mine"}}
    inner = {"name": "turned", "target": "shuffled", "kwargs": {"model": {"target": file, "runtime": HERE}}}
    section = {"model": told, "priors": [{"name": "own", **told, **goals}, inner], "draws": 2,
               "instructions": {"log": "chop tree", "pig": "hunt pig"}}  # fmt: skip
    path = folder / "goals.yml"
    path.write_text(yaml.safe_dump({"output_root": str(folder / "runs"), "goals": section}))
    (folder / "python-of-mine").symlink_to(sys.executable)
    return path


def test_a_config_says_where_a_model_lives(file: str, tmp_path: Path) -> None:
    cfg, goals = load_goals(config(tmp_path, file))
    assert goals.model.runtime is not None
    assert goals.model.runtime.python == str(tmp_path / "python-of-mine")
    told = json.loads((evaluate(cfg, goals).folder / "goals.json").read_text())
    assert [prior["space"] for prior in told["priors"]] == ["letters/pictures"] * 2


def test_success_visuals_say_in_what_runtime_they_were_encoded(file: str, tmp_path: Path) -> None:
    _, goals = load_goals(config(tmp_path, file))
    told = describe(goals, made(file, HERE))["runtime"]
    assert told["python"] == platform.python_version()
    assert told["packages"]["numpy"] == np.__version__
    assert describe(goals.model_copy(update={"model": GoalModelCfg(target=file)}), made(file))["runtime"] is None


def test_a_task_that_a_model_fails_on_is_left_out_with_the_reason(file: str, tmp_path: Path) -> None:
    cfg, goals = load_goals(config(tmp_path, file, kwargs={"raises": "hunt pig"}))
    told = json.loads((evaluate(cfg, goals).folder / "goals.json").read_text())
    reason = "Spelling.embed_goal raised ValueError: no such word (spelling.py, line 19)"
    assert told["priors"][0]["missing"] == {"pig": reason}


def test_a_runtime_that_is_none_is_found_with_its_line(file: str, tmp_path: Path) -> None:
    path = config(tmp_path, file)
    path.write_text(path.read_text().replace("python: ./python-of-mine", "name: stevve1"))
    with pytest.raises(ConfigError, match=r'goals.yml:\d+: goals.model.runtime.*stevve1.*did you mean "steve1"'):
        load_goals(path)
