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


def old_task(name: str, rows: int = 2, **more: object) -> dict[str, object]:
    embeds = [np.arange(5, dtype=np.float32) + number for number in range(1, rows + 1)]
    return {"task_id": name, "instruction": f"go {name}", "success_visual_embeds": embeds, **more}


def test_import_of_an_older_pickle(tmp_path: Path) -> None:
    file, folder = tmp_path / "old.pkl", tmp_path / "visuals"
    file.write_bytes(pickle.dumps({"north-east": old_task("north-east")}))
    said = proctor("import", str(file), str(folder), "--space", "room/pictures")
    assert "(2 embeddings of 1 task, no pictures)" in said
    assert read_visuals(folder).tasks["north-east"].instruction == "go north-east"
    config = str(goals_config(tmp_path, examination=ROOMS, instructions=WORDS, k=2, model=MODEL))
    assert "No success visual of south-west" in proctor("evaluate", config)


def test_a_folder_of_pickles_and_a_second_import_into_the_folder(tmp_path: Path) -> None:
    old, folder = tmp_path / "old", tmp_path / "visuals"
    old.mkdir()
    for name in ("north-east", "south-west"):
        picture = np.full((1, 32, 64, 3), 7, np.uint8)
        told = old_task(name, success_frames=[list(picture), picture])
        (old / f"{name}.pkl").write_bytes(pickle.dumps(told))
    said = proctor("import", str(old), str(folder), "--space", "room/pictures")
    assert "(4 embeddings of 2 tasks, pictures of 2 tasks)" in said
    one = tmp_path / "north-west.pkl"
    one.write_bytes(pickle.dumps({key: value for key, value in old_task("x").items() if key != "task_id"}))
    assert "the folder now has 3 tasks" in proctor("import", str(one), str(folder), "--space", "room/pictures")
    assert set(read_visuals(folder).tasks) == {"north-east", "south-west", "north-west"}

    config = tmp_path / "alone.yml"
    keys = {"goals": {"model": MODEL, "visuals_folder": "visuals", "k": 2}, "output_root": str(tmp_path / "runs")}
    config.write_text(json.dumps(keys))
    assert "goal accuracy" in proctor(
        "evaluate", str(config), "--task-set", "east", "--set", 'goals.task_sets={"east": ["north-east"]}'
    )
    run = next((tmp_path / "runs").iterdir())
    told = json.loads((run / "goals.json").read_text())
    assert (list(told["tasks"]), told["settings"]["task_set"]) == (["north-east"], "east")
    again = proctor("report", str(tmp_path / "runs" / "latest"), "--quiet")
    assert str(run / "goals.html") in again


def test_a_task_that_is_there_already_gives_way_only_where_told(tmp_path: Path) -> None:
    file, folder = tmp_path / "log.pkl", tmp_path / "visuals"
    file.write_bytes(pickle.dumps(old_task("log")))
    for _ in range(2):
        proctor("import", str(file), str(folder), "--space", "s")
    file.write_bytes(pickle.dumps(old_task("log", rows=3)))
    with pytest.raises(InputError, match=r"has other success visuals of log; --replace puts these in their place"):
        proctor("import", str(file), str(folder), "--space", "s")
    proctor("import", str(file), str(folder), "--space", "s", "--replace")
    assert len(read_visuals(folder).tasks["log"].trial) == 3


def test_imported_visuals_are_not_collected_over(tmp_path: Path) -> None:
    test_import_of_an_older_pickle(tmp_path)
    config = str(goals_config(tmp_path, examination=ROOMS, instructions=WORDS))
    with pytest.raises(InputError, match="holds success visuals that were not collected here"):
        proctor("collect", config, "--quiet")
