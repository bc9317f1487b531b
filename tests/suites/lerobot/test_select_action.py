"""Policies that LeRobot saved are asked as its own `select_action` loop asks them: of the genuine package where its
runtime is installed (`proctor runtimes install lerobot`), and of a double."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pushing
import pytest
from own_runtimes import make_venv

from proctor import InputError, Run, config_from_dict, run_evaluation
from proctor.config.models import RuntimeCfg
from proctor.runtimes import Located, locate

SUPPORT = Path(__file__).parents[2] / "support"
PUSHT = {"id": "gym_pusht:gym_pusht/PushT-v0", "kwargs": {"obs_type": "pixels_agent_pos"}}


@dataclass(frozen=True)
class Place:
    """Where LeRobot is, and a task for it."""

    there: Located | None
    """None: here, and it is the double."""
    task: dict[str, Any]
    checkpoints: Path

    def has_done(self, verb: str, folder: Path, more: object) -> None:
        if self.there is None:
            getattr(importlib.import_module("lerobot_side"), verb)(folder, str(more))
            return
        environment = {**self.there.environment(), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        line = [str(self.there.python), "-W", "ignore", str(SUPPORT / "lerobot_side.py"), verb, str(folder), str(more)]
        done = subprocess.run(line, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]

    def agent(self, case: str, name: str = "agent", **options: Any) -> dict[str, Any]:
        checkpoint = str(self.checkpoints / case)
        return {"name": name, "policy": "lerobot", "checkpoint": checkpoint, "options": options}

    def examine(self, folder: Path, agents: list[dict[str, Any]], **keys: Any) -> Run:
        cfg = {
            "agents": agents, "tasks": [self.task], "n_trials": 2, "workers": "inline", "max_episode_steps": 15,
            "record": {"observations": True}, "output_root": str(folder / "runs"), **keys,
        }  # fmt: skip
        run = run_evaluation(config_from_dict(cfg))
        assert not [result.error for result in run.results() if result.outcome.broken_by_policy]
        return run


@pytest.fixture(scope="module", params=["double", "genuine"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch:
        found = _double(folder, patch) if request.param == "double" else _genuine(folder, patch)
        found.has_done("save", found.checkpoints, 96 if request.param == "genuine" else pushing.SIZE)
        yield found
        _forget_the_double()


def _forget_the_double() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in ("lerobot", "lerobot_side")]:
        del sys.modules[name]


def _double(folder: Path, patch: pytest.MonkeyPatch) -> Place:
    patch.syspath_prepend(str(SUPPORT / "lerobot_double"))
    task = {"suite": "gymnasium", "name": "pusht", "options": {"id": "pushing:Pushing-v0"}}
    return Place(None, task, folder / "checkpoints")


def _genuine(folder: Path, patch: pytest.MonkeyPatch) -> Place:
    """In `$PROCTOR_REAL_RUNTIMES`, else where runtimes are by default."""
    if (real := os.environ.get("PROCTOR_REAL_RUNTIMES")) is not None:
        patch.setenv("PROCTOR_RUNTIMES", real)
    else:
        patch.delenv("PROCTOR_RUNTIMES")
    try:
        there = locate(RuntimeCfg(name="lerobot"))
    except InputError as error:
        pytest.skip(str(error))
    task = {"suite": "gymnasium", "name": "pusht", "runtime": "lerobot", "options": PUSHT}
    return Place(there, task, folder / "checkpoints")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", ["act", "ensemble", "diffusion", "ddim"])
def test_actions_are_those_of_the_select_action_loop(place: Place, tmp_path: Path, case: str) -> None:
    run = place.examine(tmp_path, [place.agent(case, "alone", pad_to=1), place.agent(case, "together")])
    found: dict[str, dict[str, np.ndarray]] = {"alone": {}, "together": {}}
    for agent, actions in found.items():
        records = tmp_path / agent
        records.mkdir()
        for result in [one for one in run.results() if one.trial.agent == agent]:
            arrays = run.episode(result).arrays
            stem = f"{result.trial.index}-{result.trial.seed}"
            actions[stem] = arrays["actions"]
            seen = {name: arrays[f"observations.{name}"][:-1] for name in ("pixels", "agent_pos")}
            np.savez(records / f"{stem}.npz", **seen)
        place.has_done("select", place.checkpoints / case, records)
        for stem, executed in actions.items():
            expected = np.load(records / f"{stem}.actions.npy").clip(0.0, 512.0)
            assert len(executed) == 15
            if agent == "alone":
                np.testing.assert_array_equal(executed, expected)
            else:
                np.testing.assert_allclose(executed, expected, atol=0.05)
    first, second = found["alone"].values()
    assert not np.array_equal(first, second)


@pytest.mark.timeout(600)
def test_who_shares_a_forward_changes_nothing(place: Place, tmp_path: Path) -> None:
    keys: Any = {"n_trials": 3, "max_episode_steps": 8}
    agents = [place.agent("diffusion")]
    one = place.examine(tmp_path, agents, num_parallel=1, **keys)
    all_at_once = place.examine(tmp_path, agents, num_parallel=3, **keys)
    assert [r.digest for r in one.results()] == [r.digest for r in all_at_once.results()]


def test_the_double_in_a_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without LeRobot here, and without anybody saying so, agents live in the runtime of its name."""
    with pytest.MonkeyPatch.context() as patch:
        here = _double(tmp_path, patch)
        here.has_done("save", here.checkpoints, pushing.SIZE)
        expected = here.examine(tmp_path, [here.agent("diffusion")])
        _forget_the_double()
    monkeypatch.setenv("PROCTOR_RUNTIMES", str(tmp_path / "none"))
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if not entry.endswith("lerobot_double")])
    with pytest.raises(InputError, match='the runtime "lerobot" is not installed; install it with: proctor runtimes'):
        here.examine(tmp_path, [here.agent("diffusion")])
    python = make_venv(tmp_path / "venv")
    site = next((tmp_path / "venv" / "lib").glob("python3*")) / "site-packages"
    (site / "double.pth").write_text(f"{SUPPORT / 'lerobot_double'}\n")
    found = here.examine(tmp_path, [{**here.agent("diffusion"), "runtime": {"python": str(python)}}])
    assert [r.digest for r in found.results()] == [r.digest for r in expected.results()]


@pytest.mark.timeout(600)
def test_what_does_not_fit_is_said_before_the_first_trial(place: Place, tmp_path: Path) -> None:
    def refused(agent: dict[str, Any]) -> str:
        with pytest.raises(InputError) as error:
            place.examine(tmp_path, [agent])
        return str(error.value)

    options = {"inputs": {"observation.image": "pixels"}}
    assert "the policy wants observation.state of shape (2,); the observation of task" in refused(
        place.agent("act", **options)
    )
    options = {"inputs": {"observation.image": "picture", "observation.state": "agent_pos"}}
    assert 'the observation has no entry "picture" (it has ' in refused(place.agent("act", **options))
    folder = tmp_path / "odd"
    folder.mkdir()
    for file in (place.checkpoints / "act").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "chunk_size": 10}))
    odd = {**place.agent("act"), "checkpoint": str(folder)}
    assert "do not fit its config.json" in refused(odd)
    (folder / "model.safetensors").unlink()
    assert f"{folder} has no model.safetensors; expected a folder that LeRobot saved" in refused(odd)
    assert "the lerobot loader needs a checkpoint" in refused(
        {key: value for key, value in odd.items() if key != "checkpoint"}
    )
