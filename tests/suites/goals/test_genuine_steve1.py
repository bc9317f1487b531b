"""MineCLIP's and STEVE-1's own classes, with random weights, from checkpoint files that they saved themselves.

`PROCTOR_STEVE1_PYTHON` is an interpreter with their code on its path and the packages that docs/contributing.md names.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from goal_rooms import HERE, INSTRUCTIONS, room_task

from proctor import InputError
from proctor.suites.goals.collect import collect
from proctor.suites.goals.config import load_goals
from proctor.suites.goals.evaluate import evaluate
from proctor.suites.goals.models import GoalModelCfg, Surroundings, make_goal_model
from proctor.suites.goals.protocol import GoalModel, goals_of, pictures_of, texts_of

PYTHON = os.environ.get("PROCTOR_STEVE1_PYTHON")
pytestmark = [
    pytest.mark.skipif(PYTHON is None, reason="PROCTOR_STEVE1_PYTHON names no interpreter with MineCLIP"),
    pytest.mark.timeout(1800),
]
SIDE = Path(__file__).parents[2] / "support" / "genuine_steve1.py"
TEXTS = ["chop tree", "hunt a pig", "dig dirt " * 60]


def genuine(verb: str, **arguments: Any) -> None:
    told = [str(PYTHON), "-W", "ignore", str(SIDE), verb, json.dumps(arguments)]
    subprocess.run(told, check=True, env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": ""})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("steve1")
    genuine("make", folder=str(folder))
    return folder


def kwargs_of(files: Path) -> dict[str, str]:
    names = {"mineclip": "attn.pth", "prior": "steve1_prior.pt", "tokenizer": "tokenizer"}
    return {key: str(files / name) for key, name in names.items()}


def made(files: Path, **change: Any) -> GoalModel:
    told = {"target": "mineclip", "runtime": {"python": PYTHON}, "kwargs": {**kwargs_of(files), **change}}
    return make_goal_model(GoalModelCfg.model_validate(told), Surroundings())


def test_goals_texts_and_videos_are_those_of_their_own_functions(files: Path, tmp_path: Path) -> None:
    frames = np.random.default_rng(0).integers(0, 256, (1, 16, 160, 256, 3), dtype=np.uint8)
    np.save(tmp_path / "frames.npy", frames)
    rng = np.random.default_rng(5)
    seeds = [int(rng.integers(2**63)) for _ in TEXTS]
    told = {"folder": str(files), "texts": TEXTS, "seeds": seeds, "frames": str(tmp_path / "frames.npy")}
    genuine("ask", **told, out=str(tmp_path / "out.npz"))
    with np.load(tmp_path / "out.npz") as theirs:
        ours = made(files)
        assert goals_of(ours, TEXTS, np.random.default_rng(5)).vectors == pytest.approx(theirs["goals"], abs=1e-6)
        assert pictures_of(ours, frames).vectors == pytest.approx(theirs["seen"], abs=1e-4)
        words = texts_of(ours, TEXTS)
        assert words is not None
        assert words.vectors == pytest.approx(theirs["words"], abs=1e-4)
    assert (ours.space, ours.window, ours.frame_size) == ("mineclip-attn/video", 16, (160, 256))


def test_collect_and_evaluate_from_yaml_without_a_loader(files: Path, tmp_path: Path) -> None:
    model = {"target": "mineclip", "runtime": {"python": PYTHON}, "kwargs": kwargs_of(files)}
    rooms = ("north-east", "south-west")
    config = {
        "name": "steve1", "agents": [{"policy": f"{HERE}:Guide"}], "tasks": [room_task(room) for room in rooms],
        "n_trials": 1, "workers": "inline", "output_root": str(tmp_path / "runs"),
        "goals": {
            "model": model, "visuals_folder": "visuals", "select": {"last": 1, "best": False}, "draws": 2, "k": 1,
            "instructions": {room: INSTRUCTIONS[room] for room in rooms},
            "priors": [{"name": "steve1", **model}, {"name": "truth", "target": "ground_truth"}],
        },
    }  # fmt: skip
    path = tmp_path / "goals.yml"
    path.write_text(yaml.safe_dump(config))
    found = collect(*load_goals(path)).visuals
    assert found is not None
    assert {task: len(own.trial) for task, own in found.tasks.items()} == dict.fromkeys(rooms, 1)
    done = evaluate(*load_goals(path))
    told = json.loads((done.folder / "goals.json").read_text())
    assert told["priors"][0]["space"] == "mineclip-attn/video"
    assert told["priors"][0]["dimensions"]["accuracy"]["value"] is not None
    assert not told["priors"][0]["is_the_text_embedding"]
    assert "truth" not in told["verdict"].partition("ground truth")[0]


def test_files_that_are_swapped_are_one_sentence(files: Path) -> None:
    swapped = {"mineclip": str(files / "steve1_prior.pt"), "prior": str(files / "attn.pth")}
    with pytest.raises(InputError, match=r"steve1_prior.pt is no checkpoint of MineCLIP: it has no state_dict"):
        made(files, **swapped)
    with pytest.raises(InputError, match=r"the weights in .*attn.pth do not fit MineCLIP .*temporal_encoder.attn"):
        made(files, config={"pool_type": "avg"})
