"""`proctor goals` from the command line."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from goal_rooms import HERE, MODEL, goals_config, room_task
from typer.testing import CliRunner

from proctor.cli import app
from proctor.errors import InputError
from proctor.suites.goals.visuals import read_visuals

ROOMS = {"tasks": [room_task("north-east"), room_task("south-west")], "n_trials": 2}
WORDS = {"north-east": "go north east", "south-west": {"instruction": "go south west", "paraphrases": ["south, west"]}}


def proctor(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["goals", *arguments], catch_exceptions=True)
    if isinstance(done.exception, InputError):
        raise done.exception
    assert done.exit_code == code, done.output + repr(done.exception)
    return done.output


def test_collect_evaluate_and_report(tmp_path: Path) -> None:
    config = str(goals_config(
        tmp_path, examination=ROOMS, instructions=WORDS, k=2,
        ablation={"target": f"{HERE}:Walker", "n_trials": 2},
    ))  # fmt: skip
    said = proctor("collect", config, "--quiet")
    assert "north-east: 2 of 2 trials succeeded, 10 pictures" in said
    assert "success visuals:" in said
    assert json.loads(proctor("collect", config, "--json").splitlines()[-1])["tasks"]["south-west"]["successes"] == 2

    said = proctor("evaluate", config)
    assert "goal accuracy        0." in said
    assert "quality gap          0 points" in said
    assert "report:" in said
    run = next((tmp_path / "runs").iterdir())
    assert {path.name for path in run.glob("goals.*")} == {"goals.json", "goals.csv", "goals.md", "goals.html"}

    again = json.loads(proctor("report", str(run), "--json"))
    assert again["priors"][0]["name"] == "model"
    assert proctor("report", str(run), "--quiet").splitlines()[0].startswith("model: goal accuracy")


def test_overrides_reach_the_section(tmp_path: Path) -> None:
    config = str(goals_config(tmp_path, examination=ROOMS, instructions=WORDS))
    proctor("evaluate", config, "--quiet", "--set", "goals.draws=3", "--set", "name=other")
    keys = json.loads(next((tmp_path / "runs").glob("*_other/goals.json")).read_text())
    assert keys["settings"]["draws"] == 3


def test_a_task_without_success_is_exit_code_1(tmp_path: Path) -> None:
    examination = {**ROOMS, "agents": [{"policy": "zero"}], "n_trials": 1}
    config = str(goals_config(tmp_path, examination=examination, instructions=WORDS))
    assert "north-east: 0 of 1 trials succeeded" in proctor("collect", config, "--quiet", code=1)


def test_import_of_an_older_pickle(tmp_path: Path) -> None:
    file, folder = tmp_path / "old.pkl", tmp_path / "visuals"
    embeds = [np.ones(5, np.float32), np.arange(5, dtype=np.float32)]
    file.write_bytes(pickle.dumps({"north-east": {"instruction": "go", "success_visual_embeds": embeds}}))
    said = proctor("import", str(file), str(folder), "--space", "room/pictures")
    assert "(2 embeddings of 1 task)" in said
    assert read_visuals(folder).tasks["north-east"].instruction == "go"
    with pytest.raises(InputError, match="has success visuals already; name another folder"):
        proctor("import", str(file), str(folder), "--space", "room/pictures")
    config = str(goals_config(tmp_path, examination=ROOMS, instructions=WORDS, k=2, model=MODEL))
    assert "No success visual of south-west" in proctor("evaluate", config)


def test_imported_visuals_are_not_collected_over(tmp_path: Path) -> None:
    test_import_of_an_older_pickle(tmp_path)
    config = str(goals_config(tmp_path, examination=ROOMS, instructions=WORDS))
    with pytest.raises(InputError, match="holds success visuals that were not collected here"):
        proctor("collect", config, "--quiet")
