"""Sound files of every kind that Proctor reads, and damaged copies of them with the commands that read them."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import warnings
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from campaign.guarded import say
from campaign.mutating import HOSTILE, by_ending

READERS = (["report"], ["score"], ["compare"], ["leaderboard"], ["resume"], ["merge"])
CHECKPOINTS = {
    "model.onnx": {"policy": "onnx"},
    "weights.pt": {"policy": "torch", "options": {"module": "campaign.simple:network"}},
    "weights.safetensors": {"policy": "torch", "options": {"module": "campaign.simple:network"}},
    "ppo.zip": {"policy": "sb3"},
}


class Corpus:
    """Made once by a process; `damage` copies from it."""

    def __init__(self, folder: Path):
        self.folder = folder
        if not (folder / "ready").exists():
            folder.mkdir(parents=True)
            self._make()
            (folder / "ready").touch()
        self.run = next((folder / "runs").iterdir())

    def damage(self, rng: random.Random, here: Path) -> tuple[str, list[list[str]]]:
        """A damaged copy of one file: what it is, and the commands that meet it."""
        if rng.random() < 0.6:
            return self._damaged_run(rng, here)
        name = rng.choice([name for name in (*CHECKPOINTS, "outcomes.csv") if (self.folder / name).is_file()])
        content = rng.choice(by_ending(name))(rng, (self.folder / name).read_bytes())
        (here / name).write_bytes(content)
        if name == "outcomes.csv":
            return name, [["import", str(here / name), "--output-root", str(here / "runs")]]
        config = _pendulum({"name": "damaged", "checkpoint": str(here / name), **CHECKPOINTS[name]}, here / "runs")
        (here / "config.yml").write_text(yaml.safe_dump(config))
        return name, [["check", str(here / "config.yml")]]

    def _damaged_run(self, rng: random.Random, here: Path) -> tuple[str, list[list[str]]]:
        run = here / "run"
        shutil.copytree(self.run, run)
        kind = rng.choice(["record", "ledger.sqlite", "ledger row", "config.json", "environment.json", "report.json"])
        if kind == "ledger row":
            _odd_cells(rng, run / "ledger.sqlite")
        else:
            path = rng.choice(sorted((run / "trials").iterdir())) if kind == "record" else run / kind
            path.write_bytes(rng.choice(by_ending(path.name))(rng, path.read_bytes()))
        verb = rng.choice(READERS)
        return kind, [[*verb, str(run), *_rest(verb[0], here)]]

    # What is damaged -------------------------------------------------------------------------------------------------

    def _make(self) -> None:
        agents = [{"name": "random", "policy": "random"}, {"name": "zero", "policy": "zero"}]
        config = {**_pendulum(agents[0], self.folder / "runs"), "agents": agents, "n_trials": 3}
        (self.folder / "config.yml").write_text(yaml.safe_dump(config))
        said = say(["run", str(self.folder / "config.yml")])
        if said.code != 0:
            raise RuntimeError(f"the sound run ended with {said.code}: {said.text}{said.trace}")
        rows = [f"{agent},{i},{(i + j) % 2},{0.5 * i}" for j, agent in enumerate("ab") for i in range(6)]
        (self.folder / "outcomes.csv").write_text("\n".join(["agent,seed,success,speed", *rows]) + "\n")
        _write_checkpoints(self.folder)


def _pendulum(agent: dict[str, Any], output_root: Path) -> dict[str, Any]:
    return {
        "agents": [agent], "tasks": ["Pendulum-v1"], "n_trials": 1, "max_episode_steps": 5, "workers": "inline",
        "num_parallel": 2, "output_root": str(output_root),
    }  # fmt: skip


def _rest(verb: str, here: Path) -> list[str]:
    return ["--output-root", str(here / "merged")] if verb == "merge" else []


def _odd_cells(rng: random.Random, path: Path) -> None:
    """Values of another kind in some cells: sound SQLite, odd rows."""
    with closing(sqlite3.connect(path)) as db:
        names = [row[1] for row in db.execute("PRAGMA table_info(trials)")]
        for _ in range(rng.randint(1, 3)):
            value = rng.choice([*HOSTILE, b"\x00\xff", "success", "[1]", '{"a": "b"}'])
            value = value if isinstance(value, int | float | str | bytes | None) else json.dumps(value)
            value = float(value) if isinstance(value, int) and abs(value) >= 2**63 else value
            table, column, key = "trials", rng.choice(names), "idx"
            if rng.random() < 0.3:
                table, column, key = "meta", "value", "key"
            rows = [row[0] for row in db.execute(f"SELECT {key} FROM {table}")]
            try:
                db.execute(f'UPDATE {table} SET "{column}" = ? WHERE {key} = ?', (value, rng.choice(rows)))
            except sqlite3.IntegrityError:
                continue
        db.commit()


def _write_checkpoints(folder: Path) -> None:
    import onnx
    import torch
    from onnx import TensorProto, helper, numpy_helper
    from safetensors.torch import save_file

    from campaign.simple import network

    torch.manual_seed(0)
    weights = network().state_dict()
    torch.save(weights, folder / "weights.pt")
    save_file(weights, folder / "weights.safetensors")
    matrix = numpy_helper.from_array(np.ones((3, 1), np.float32), "matrix")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["observation", "matrix"], ["action"])], "policy",
        [helper.make_tensor_value_info("observation", TensorProto.FLOAT, ["rows", 3])],
        [helper.make_tensor_value_info("action", TensorProto.FLOAT, ["rows", 1])], [matrix],
    )  # fmt: skip
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(folder / "model.onnx")
    )
    if find_spec("stable_baselines3") is None:
        return
    from stable_baselines3 import PPO

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        PPO("MlpPolicy", "Pendulum-v1", n_steps=16, batch_size=16, policy_kwargs={"net_arch": [4]}).save(
            folder / "ppo.zip"
        )
