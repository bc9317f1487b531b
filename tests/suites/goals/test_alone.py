"""A config with the section `goals` alone, and sets of tasks: no agents, no tasks, no simulator."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from goal_rooms import HERE, INSTRUCTIONS, MODEL, goals_config

from proctor import ConfigError, InputError
from proctor.suites.goals.collect import collect
from proctor.suites.goals.config import AloneCfg, load_goals
from proctor.suites.goals.evaluate import evaluate, report
from proctor.suites.goals.metrics.embeddings import Embeddings
from proctor.suites.goals.visuals import TaskVisuals, Visuals, read_visuals, write_visuals


def alone(folder: Path, **goals: Any) -> Path:
    path = folder / "alone.yml"
    section = {"model": MODEL, "visuals_folder": str(folder / "visuals"), **goals}
    path.write_text(yaml.safe_dump({"name": "words", "output_root": str(folder / "runs"), "goals": section}))
    return path


def test_tasks_are_those_of_the_instructions_and_of_the_visuals(tmp_path: Path, collected: Path) -> None:
    words = {"north-east": INSTRUCTIONS["north-east"], "cellar": "go down west"}
    cfg, goals = load_goals(alone(tmp_path, visuals_folder=str(collected), instructions=words, k=2))
    assert cfg == AloneCfg(name="words", output_root=str(tmp_path / "runs"))
    done = evaluate(cfg, goals)
    assert done.folder.parent == tmp_path / "runs"
    assert done.folder.name.endswith("_words")
    told = json.loads((done.folder / "goals.json").read_text())
    assert list(told["tasks"]) == ["cellar", "north-east", "north-west", "south-east", "south-west"]
    assert told["tasks"]["north-east"] == [INSTRUCTIONS["north-east"]["instruction"], *told["tasks"]["north-east"][1:]]
    assert told["priors"][0]["dimensions"]["accuracy"]["by_task"]["cellar"]["value"] is None
    assert (done.folder / "goals.html").is_file()
    before = (done.folder / "goals.csv").read_bytes()
    report(done.folder)
    assert (done.folder / "goals.csv").read_bytes() == before


def test_no_simulator_is_imported(tmp_path: Path, collected: Path) -> None:
    """The config names a model without one; what a suite needs is never loaded."""
    model = tmp_path / "plain.py"
    model.write_text(
        "import numpy as np\n"
        "from proctor.suites.goals import GoalModel\n"
        "class Plain(GoalModel):\n"
        "    space, frame_size = 'room/pictures', (17, 17)\n"
        "    def embed_goal(self, texts, rng):\n"
        "        return np.array([[len(t), 1, 2, 3, 4] for t in texts], float)\n"
        "    def encode_frames(self, frames):\n"
        "        raise NotImplementedError\n"
    )
    config = alone(tmp_path, visuals_folder=str(collected), model=f"{model}:Plain")
    code = (
        "import sys\n"
        "from proctor.suites.goals.config import load_goals\n"
        "from proctor.suites.goals.evaluate import evaluate\n"
        f"evaluate(*load_goals({str(config)!r}))\n"
        "print(sorted({'mujoco', 'torch', 'crafter', 'goal_rooms'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_visuals_without_words_are_a_caution(tmp_path: Path) -> None:
    rows = TaskVisuals.bare(Embeddings(np.eye(5, dtype=np.float32)[:2], "room/pictures"), "")
    write_visuals(tmp_path / "visuals", Visuals("room/pictures", {"attic": rows, "cellar": rows}))
    found = evaluate(*load_goals(alone(tmp_path, instructions={"attic": "go north"}))).report
    assert found is not None
    assert any("Success visuals of cellar are left out: nothing says in words" in said for said in found.cautions)


def test_what_needs_tasks_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing says which tasks there are"):
        evaluate(*load_goals(alone(tmp_path)))
    with pytest.raises(InputError, match="collecting runs trials, and the config has neither agents nor tasks"):
        collect(*load_goals(alone(tmp_path)))
    ablation = {"target": f"{HERE}:Walker"}
    with pytest.raises(InputError, match=r"goals.ablation runs trials, and the config has no tasks"):
        evaluate(*load_goals(alone(tmp_path, ablation=ablation, instructions={"attic": "go up"})))
    path = alone(tmp_path)
    path.write_text(path.read_text() + "n_trials: 3\n")
    with pytest.raises(ConfigError, match="n_trials"):
        load_goals(path)


SETS = {"north": ["north-west", "north-east"], "east": ["south-east", "north-east"]}


def test_sets_of_tasks_are_collected_one_after_the_other_into_one_folder(tmp_path: Path) -> None:
    config = goals_config(tmp_path, task_sets=SETS, examination={"n_trials": 2})
    first = collect(*load_goals(config, ["goals.task_set=north"]))
    assert first.tasks == ("north-west", "north-east")
    second = collect(*load_goals(config, ["goals.task_set=east"]))
    assert second.tasks == ("south-east", "north-east")
    found = read_visuals(tmp_path / "visuals")
    assert set(found.tasks) == {"north-west", "north-east", "south-east"}
    assert second.visuals is not None
    assert found.files_hash == second.visuals.files_hash
    cfg, goals = load_goals(config, ["goals.task_set=east"])
    told = evaluate(cfg, goals).report
    assert told is not None
    assert told.records.tasks == ("south-east", "north-east")


def test_sets_that_are_not_there_are_named(tmp_path: Path) -> None:
    config = goals_config(tmp_path, task_sets={**SETS, "under": ["cellar"]})
    with pytest.raises(
        ConfigError, match=r'there is no set of tasks "west"; goals.task_sets names: east, north, under'
    ):
        load_goals(config, ["goals.task_set=west"])
    with pytest.raises(InputError, match=r'the set of tasks "under" names cellar; expected tasks: north-east'):
        load_goals(config, ["goals.task_set=under"])
