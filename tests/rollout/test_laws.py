"""A trial is a function of (agent, task, seed): however it is run, the recorded arrays are equal to the byte."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from crossing import EVERY
from examining import TOYS, by_key, digests, policy, task
from processes import alive, keepers, wait_for, workers

from proctor import Run, config_from_dict
from proctor.registry import import_object
from proctor.rollout.progress import Progress
from proctor.runs.resume import resume
from proctor.runs.session import Hooks
from proctor.runs.start import start

N = 4
NETWORKS = all(find_spec(package) for package in ("torch", "onnx", "onnxruntime"))
"""Without these extras the laws are those of the other agents."""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A torch and an ONNX network of several layers."""
    folder = tmp_path_factory.mktemp("models")
    if not NETWORKS:
        return folder
    import onnx
    import torch
    from onnx import TensorProto, helper, numpy_helper

    torch.manual_seed(0)
    torch.save(import_object(f"{TOYS}:network")().state_dict(), folder / "net.pt")
    rng = np.random.default_rng(0)
    shapes = {"a": (6, 48), "b": (48, 48), "c": (48, 2)}
    weights = [numpy_helper.from_array(rng.normal(size=s).astype(np.float32) / 3, n) for n, s in shapes.items()]
    nodes, last = [], "obs"
    for name in shapes:
        nodes += [
            helper.make_node("MatMul", [last, name], [f"{name}0"]),
            helper.make_node("Tanh", [f"{name}0"], [f"{name}1"]),
        ]
        last = f"{name}1"
    graph = helper.make_graph(
        nodes, "net",
        [helper.make_tensor_value_info("obs", TensorProto.FLOAT, ["rows", 6])],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, ["rows", 2])], weights,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(folder / "net.onnx"))
    return folder


def everyone(models: Path, **options: Any) -> list[dict[str, Any]]:
    agents = [policy(name, **options) for name in ("Linear", "Noisy", "Recurrent", "TwoStages")]
    networks = [
        {
            "name": "torch",
            "policy": "torch",
            "checkpoint": str(models / "net.pt"),
            "options": {"module": f"{TOYS}:network", **options},
        },
        {"name": "onnx", "checkpoint": str(models / "net.onnx"), "policy": "onnx", "options": options},
    ]
    return [*agents, *(networks if NETWORKS else []), {"name": "random", "policy": "random", "options": options}]


def tasks(**rest: Any) -> list[dict[str, Any]]:
    return [task(**rest), {**task(kwargs={"scale": 0.3}), "name": "weak", "wait_steps": 2, "out_of_range": "clip"}]


@pytest.fixture(scope="module")
def serial(models: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """One trial at a time, in this process."""
    raw = {
        "agents": everyone(models), "tasks": tasks(), "n_trials": N, "num_parallel": 1, "workers": "inline",
        "output_root": str(tmp_path_factory.mktemp("serial")), "record": {"level": "series", "observations": True},
    }  # fmt: skip
    found = digests(start(config_from_dict(raw)).run)
    assert len(found) == (7 if NETWORKS else 5) * 2 * N
    assert len(set(found.values())) == len(found), "different trials differ"
    return found


@pytest.mark.parametrize(
    ("workers", "num_parallel", "options"),
    [
        ("inline", 3, {}),
        ("inline", 16, {"max_batch": 1}),
        ("inline", 16, {"max_batch": 5, "max_wait_s": 0.0}),
        (3, 16, {"max_batch": 5}),
        (2, 16, {"max_wait_s": 0.02}),
        (2, 16, {"placement": "engine"}),
        ("inline", 16, {"placement": "worker"}),
        (2, 16, {"placement": "worker"}),
        (1, 7, {"placement": "worker", "max_batch": 2}),
        *([("inline", 16, {}), (1, 3, {}), (2, 16, {}), ("inline", 1, {"placement": "worker"})] if EVERY else []),
    ],
)
def test_serial_equals_parallel(
    examine: Callable[..., Run],
    models: Path,
    serial: dict[str, str | None],
    workers: Any,
    num_parallel: int,
    options: Any,
) -> None:
    run = examine(
        agents=everyone(models, **options), tasks=tasks(), n_trials=N, num_parallel=num_parallel, workers=workers,
        record={"level": "series", "observations": True},
    )  # fmt: skip
    assert digests(run) == serial


def test_a_shuffled_plan_changes_nothing(
    examine: Callable[..., Run], models: Path, serial: dict[str, str | None]
) -> None:
    run = examine(
        agents=everyone(models)[::-1], tasks=tasks()[::-1], n_trials=N, num_parallel=5,
        record={"level": "series", "observations": True}, limits={"max_loaded_agents": 3},
    )  # fmt: skip
    assert digests(run) == serial


def test_another_pad_to_is_another_agent_but_still_one_function(examine: Callable[..., Run], models: Path) -> None:
    runs = [
        examine(agents=everyone(models, pad_to=4), tasks=tasks(), n_trials=3, num_parallel=n, workers=w)
        for n, w in [(1, "inline"), (7, 2)]
    ]
    assert digests(runs[0]) == digests(runs[1])


def test_dict_observations_with_pictures(examine: Callable[..., Run]) -> None:
    agents = [policy(name) for name in ("Linear", "Noisy", "Recurrent")]
    keys = {"agents": agents, "tasks": [task("Pictures")], "record": {"level": "series", "observations": True}}
    inline, processes = examine(**keys), examine(**keys, workers=2)
    assert digests(inline) == digests(processes)
    episode = inline.episode(next(iter(inline.results())))
    assert episode.arrays["observations.picture"].shape[1:] == (8, 8, 3)
    assert len(episode.arrays["observations.state"]) == episode.n_steps + 1


def test_worlds_of_a_vector_environment_are_trials_of_their_own(examine: Callable[..., Run]) -> None:
    agents = [policy(name) for name in ("Noisy", "Recurrent", "TwoStages")]
    single = task()
    vector = {**single, "options": {**single["options"], "vector": True}}
    alone = digests(examine(agents=agents, tasks=[single], n_trials=7))
    beside = [{**agent, "options": {"placement": "worker"}} for agent in agents]
    for keys in ({"num_parallel": 4}, {"num_parallel": 3, "workers": 1}, {"num_parallel": 16, "workers": 2}):
        assert digests(examine(agents=agents, tasks=[vector], n_trials=7, **keys)) == alone
        assert digests(examine(agents=beside, tasks=[vector], n_trials=7, **keys)) == alone


@pytest.mark.parametrize("placement", ["engine", "worker"])
@pytest.mark.parametrize("victims", [workers, keepers])
def test_a_killed_worker_changes_nothing(
    examine: Callable[..., Run], tmp_path: Path, placement: str, victims: Callable[[int], list[int]]
) -> None:
    agents = [policy(name, placement=placement) for name in ("Noisy", "Recurrent")]
    keys = {"agents": agents, "tasks": [task(kwargs={"nap_s": 0.004})], "n_trials": 12}
    undisturbed = digests(examine(**keys, num_parallel=8))
    killed = []

    def kill_one(progress: Progress) -> None:
        if progress.done >= 3 and not killed:
            killed.append(victims(os.getpid())[0])
            os.kill(killed[0], signal.SIGKILL)

    raw = {**keys, "num_parallel": 8, "workers": 2, "scoring": "success", "output_root": str(tmp_path)}
    run = start(config_from_dict(raw), Hooks(progress=kill_one)).run
    assert killed
    assert digests(run) == undisturbed
    assert all(result.outcome.scored for result in run.results())


@pytest.mark.parametrize("placement", ["engine", "worker"])
def test_a_killed_run_resumed_equals_an_undisturbed_one(
    examine: Callable[..., Run], tmp_path: Path, placement: str
) -> None:
    agents = [policy(name, placement=placement) for name in ("Noisy", "Recurrent")]
    keys = {"agents": agents, "tasks": [task(kwargs={"nap_s": 0.004})], "n_trials": 12}
    undisturbed = examine(**keys, num_parallel=6)
    root = tmp_path / "killed"
    config = tmp_path / "config.yml"
    config.write_text(
        yaml.safe_dump({**keys, "scoring": "success", "num_parallel": 6, "workers": 2, "output_root": str(root)})
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "proctor", "run", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_for(lambda: _done(root) >= 4)
    left = [*workers(process.pid), *keepers(process.pid)]
    process.kill()
    process.wait()
    (folder,) = root.iterdir()
    assert 4 <= _done(root) < 24, "the run was killed in the middle"
    assert len(left) == 4
    wait_for(lambda: not any(map(alive, left)))
    finished = resume(folder)
    assert finished.complete
    assert digests(finished.run) == digests(undisturbed)
    assert _timeless(folder / "summary.csv") == _timeless(undisturbed.path / "summary.csv")
    names = [sorted(p.name for p in (path / "trials").iterdir()) for path in (folder, undisturbed.path)]
    assert names[0] == names[1]


def _done(root: Path) -> int:
    for ledger in root.glob("*/ledger.sqlite"):
        try:
            with sqlite3.connect(f"file:{ledger}?mode=ro", uri=True) as db:
                return db.execute("SELECT count(*) FROM trials WHERE state = 'done'").fetchone()[0]
        except sqlite3.OperationalError:
            return 0
    return 0


def _timeless(summary: Path) -> list[list[str]]:
    head, *rows = [line.split(";") for line in summary.read_text().splitlines()]
    skip = {head.index("wall_time_s")}
    return [[cell for i, cell in enumerate(row) if i not in skip] for row in [head, *rows]]


def test_an_examination_may_run_in_a_thread(examine: Callable[..., Run]) -> None:
    found: list[Run] = []
    thread = threading.Thread(target=lambda: found.append(examine(workers=1)))
    thread.start()
    thread.join()
    assert digests(found[0]) == digests(examine())


def test_seeds_and_names_of_trials(examine: Callable[..., Run]) -> None:
    run = examine(base_seed=40, n_trials=3)
    assert [r.trial.seed for r in run.results()] == [40, 41, 42]
    assert [r.npz for r in by_key(run).values()] == [f"trials/linear_trial000{i}_seed{40 + i}.npz" for i in range(3)]
