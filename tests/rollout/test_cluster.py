"""Runs on a cluster of several nodes, which are all on this machine: the bytes are those of processes, and workers and
replicas are where they should be, with what they were promised."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examining import digests
from telling import Tell

from proctor import CancelToken, Run, run_evaluation
from proctor.errors import InputError
from proctor.rollout.progress import Progress
from proctor.testing import BackendConformance

ray = pytest.importorskip("ray")
from clusters import PLAIN, Lab, config_of, done_in, examined, log_of, running, until  # noqa: E402 - only where Ray is

from proctor.rollout.cluster.doctor import examine as examine_nodes  # noqa: E402

SUPPORT = Path(__file__).parents[1] / "support"
WITH_GPU = {**PLAIN, "num_gpus": 1}
"""Ray is told that the node has a GPU; nothing here needs a real one."""
ZERO = [{"name": "zero", "policy": "zero"}]
POLE = {"suite": "gymnasium", "name": "pole", "options": {"id": "CartPole-v1"}}

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_DEDUP_LOGS", "0")
        found = Lab([WITH_GPU, WITH_GPU, PLAIN])
        try:
            yield found
        finally:
            found.close()


# The same bytes -------------------------------------------------------------------------------------------------------


def test_bytes_are_those_of_this_process(lab: Lab, examine: Callable[..., Run], tmp_path: Path) -> None:
    """For every kind of environment, with policies in replicas, in the workers and in the engine."""
    file = tmp_path / "policies.py"
    file.write_text(
        "import numpy as np\nfrom proctor import Actions, Policy\n"
        "W = np.random.default_rng(1).normal(size=(4, 2)).astype(np.float32)\n"
        "class Plain(Policy):\n"
        "    def act(self, batch):\n"
        "        return np.tanh(batch.observation['state'] @ W + 0.1 * batch.normal((2,), np.float32))\n"
        "class Stateful(Policy):\n"
        "    def reset(self, trials):\n        return np.zeros((len(trials), 2), np.float32)\n"
        "    def act(self, batch):\n        h = 0.5 * batch.state + batch.observation['state'] @ W\n"
        "        return Actions(np.tanh(h)[:, None] * np.array([1, -0.5], np.float32)[:, None], h)\n"
    )
    many = f"{SUPPORT / 'many_worlds.py'}:ManyWorlds"
    keys: dict[str, Any] = {
        "agents": [
            {"name": f"{name}-{place}", "policy": f"{file}:{name}", "options": {"placement": place}}
            for name in ("Plain", "Stateful")
            for place in ("auto", "worker", "engine")
        ],
        "tasks": [
            {"suite": many, "name": kind, "options": {"kind": kind}, "wait_steps": 1}
            for kind in ("env", "rows", "batch", "columns", "vector")
        ],
        "record": {"level": "series", "observations": True},
    }
    ours = examine(**keys, workers="inline")
    theirs = examine(**keys, workers=lab.workers(2, replicas=2))
    assert digests(theirs) == digests(ours)


def test_records_come_home_where_the_folder_is_not_shared(
    lab: Lab, examine: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records and films are sent, and are the same."""
    keys: dict[str, Any] = {
        "agents": [{"name": "random", "policy": "random"}],
        "tasks": [POLE],
        "n_trials": 4,
        "record": {"level": "video"},
    }
    ours = examine(**keys, workers="inline")
    monkeypatch.setattr("proctor.rollout.cluster.backend.probe_in", lambda folder: ("no/such/file", "x"))
    theirs = examine(**keys, workers=lab.workers())
    assert digests(theirs) == digests(ours)
    for result in theirs.results():
        assert result.npz is not None
        assert (theirs.path / result.npz).stat().st_size == result.npz_size
    films = [r.video for r in theirs.results() if r.video is not None]
    assert films
    assert all((theirs.path / film).stat().st_size > 1000 for film in films)


def test_environments_and_policies_may_live_in_runtimes_of_their_nodes(
    lab: Lab, examine: Callable[..., Run], tmp_path: Path
) -> None:
    """Bytes are those without a runtime; policies in runtimes have replicas, too."""
    (tmp_path / "lean.py").write_text(
        "import numpy as np\nfrom proctor import Policy\n"
        "class Lean(Policy):\n"
        "    def act(self, batch):\n        return (batch.observation[:, 2] > 0).astype(np.int64)\n"
    )
    lean = {"name": "lean", "policy": f"{tmp_path / 'lean.py'}:Lean"}
    there = {"runtime": {"python": sys.executable}}
    ours = examine(agents=[lean], tasks=[POLE], n_trials=4, workers="inline")
    theirs = examine(agents=[lean | there], tasks=[POLE | there], n_trials=4, workers=lab.workers())
    assert digests(theirs) == digests(ours)


class TestRayWorkers(BackendConformance):
    """The laws of every backend."""

    kind = "ray"
    count = 1

    @pytest.fixture(autouse=True)
    def on_the_cluster(self, lab: Lab) -> None:
        type(self).options = {"address": lab.address}


# Who is where ---------------------------------------------------------------------------------------------------------


def placed_in(root: Path) -> list[tuple[int, str, str]]:
    """Of the trials that a run has done so far: the index, the node of the environment and that of the policy."""
    (folder,) = root.iterdir()
    with Run.open(folder).ledger() as ledger:
        nodes = [node["node"] for node in ledger.nodes()]
        return [(t.index, nodes[worker], nodes[asked]) for t, worker, asked in ledger.placed() if asked is not None]


def test_a_worker_asks_the_replica_of_its_own_node(lab: Lab, tmp_path: Path) -> None:
    """Two of the three nodes have a GPU, and so a replica; all have a worker. As trials begin in their order, all from
    some index on have begun when both replicas could be asked."""
    cancel, workers = CancelToken(), lab.workers(3, replicas=2, replica_gpus=1.0)
    keys: dict[str, Any] = {"n_trials": 20_000, "num_parallel": 3}
    thread, found = running(lambda: examined(tmp_path, workers, cancel, nap_s=0.002, **keys))
    try:
        until(lambda: log_of(tmp_path).count("has a replica on") == 2 or not thread.is_alive())
        first = len(placed_in(tmp_path)) + 30  # more than run, wait for their records, or are yet to be written down
        until(lambda: len({worker for i, worker, _ in placed_in(tmp_path) if i >= first}) == 3)
    finally:
        cancel.cancel()
        thread.join()
    assert isinstance(found[0], Run), found
    pairs = {(worker, asked) for i, worker, asked in placed_in(tmp_path) if i >= first}
    with_replica = {asked for _, asked in pairs}
    assert len(with_replica) == 2
    assert {worker for worker, asked in pairs if worker == asked} == with_replica
    assert len({worker for worker, _ in pairs} - with_replica) == 1
    assert len(pairs) == 3, "a worker has asked two replicas"


ARENA = """
import os
import time
from pathlib import Path
import gymnasium
import numpy as np

def number(name):
    return float(os.environ.get(name) or -1)

class Arena(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float64)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        Path(os.environ["ARENA_FOLDER"], str(os.getpid())).touch()
        self.left = 3
        return self.see(), {}

    def see(self):
        told = map(number, ("CUDA_VISIBLE_DEVICES", "MUJOCO_EGL_DEVICE_ID", "ARENA"))
        return np.array(list(told), np.float64)

    def step(self, action):
        self.left -= 1
        time.sleep(0.02)
        return self.see(), 0.0, self.left == 0, False, {}

gymnasium.register("Arena-v0", "arena:Arena")
"""


@pytest.fixture
def arena(tmp_path: Path) -> Path:
    """A package that is nowhere but in this folder."""
    folder = tmp_path / "modules" / "arena"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(ARENA)
    return folder


def test_workers_have_their_part_of_a_gpu_and_what_the_run_brings(lab: Lab, arena: Path, tmp_path: Path) -> None:
    """Of three workers with three quarters of a GPU each, two find room, and the third waits. Both see the GPU of their
    node, a variable, and a package that only a folder of this machine has. The next run has nothing of it."""
    seen = tmp_path / "seen"
    seen.mkdir()
    env = {"py_modules": [str(arena)], "env_vars": {"ARENA": "7", "ARENA_FOLDER": str(seen)}}
    keys: dict[str, Any] = {
        "agents": ZERO,
        "tasks": [{"suite": "gymnasium", "name": "arena", "options": {"id": "arena:Arena-v0"}}],
        "n_trials": 5_000, "record": {"level": "series", "observations": True},
    }  # fmt: skip
    cancel, workers = CancelToken(), lab.workers(3, cpus=0.25, gpus=0.75, runtime_env=env)
    ray.shutdown()
    try:
        thread, found = running(lambda: examined(tmp_path / "runs", workers, cancel, **keys))
        try:
            until(lambda: len(list(seen.iterdir())) >= 2 or not thread.is_alive())
            until(lambda: done_in(tmp_path / "runs") >= 4 or not thread.is_alive())
        finally:
            cancel.cancel()
            thread.join()
        with pytest.raises(InputError, match='the module "arena" cannot be imported'):
            examined(tmp_path / "next", lab.workers(cpus=0.25), **keys)
    finally:
        lab.connect()
    assert len(list(seen.iterdir())) == 2, found
    told = np.concatenate([found[0].signals(result)["observations"] for result in found[0].results()])
    assert set(map(tuple, told)) == {(0.0, 0.0, 7.0)}
    assert {node["devices"][0] for node in found[0].report()["nodes"]} == {"GPU"}


# What cannot be had ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"gpus": 2}, r"a worker asks for 1 CPU and 2 GPUs .* no node of the cluster has room: .*: 1 CPU and 1 GPU; "),
        ({"cpus": 1.5}, r"a worker asks for 1.5 CPUs \(workers.options: cpus, gpus\)"),
        ({"replica_gpus": 4}, r"a replica of agent recurrent asks for 4 GPUs .* has room beside 1 worker: "),
        ({"gpus": 0.5, "replica_gpus": 1, "count": 2}, "asks for 1 GPU .* has room beside 2 workers: "),
        ({"runtime_env": {"env_vars": {"N": 1}}}, r"workers.options.runtime_env: .*env_vars.* the value 1"),
        ({"runtime_env": {"py_module": []}}, r'Ray knows no entry "py_module"; did you mean "py_modules"\?'),
        ({"runtime_env": {"working_dir": "/no/such"}}, "workers.options.runtime_env: /no/such is not a valid path"),
        ({"runtime_env": {"working_dir": str(SUPPORT)}}, "had connected to Ray before the run began: give folders"),
        ({"runtime_env": {"conda": "no_such_env"}}, r"node \S+ could not prepare workers.options.runtime_env: "),
    ],
)
def test_what_no_node_has_is_an_error_before_the_first_trial(
    lab: Lab, tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        examined(tmp_path, lab.workers(**options))


def test_a_run_waits_for_nodes_where_it_is_told_to(lab: Lab, tmp_path: Path) -> None:
    """It says so, and can be stopped."""
    cancel, phases = CancelToken(), []

    def note(progress: Progress) -> None:
        phases.append(progress.phase)
        if progress.phase == "waiting for room on the cluster":
            cancel.cancel()

    cfg = config_of(tmp_path, lab.workers(gpus=2, wait_for_nodes=True))
    run = run_evaluation(cfg, progress=note, cancel=cancel)
    assert "waiting for room on the cluster" in phases
    assert list(run.results()) == []


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("gpus", 1.5, "expected a part of one GPU"),
        ("replica_gpus", 2.5, "expected a part of one GPU"),
        ("cpus", -1, "at least 0"),
    ],
)
def test_amounts_that_ray_does_not_know_are_errors_of_the_config(
    tmp_path: Path, key: str, value: float, said: str
) -> None:
    with pytest.raises(InputError, match=f"workers.options.{key}: .*{said}"):
        examined(tmp_path, {"kind": "ray", "count": 1, "options": {key: value}})


def test_a_node_without_a_suite_s_packages_is_named(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is importable where the run is started, but not on the nodes."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "onlyhere.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path / "here"))
    suite = tmp_path / "needy.py"
    suite.write_text(
        f"import sys\nsys.path.insert(0, {str(SUPPORT)!r})\nfrom many_worlds import ManyWorlds\n"
        "class Needy(ManyWorlds):\n    name = 'needy'\n"
        "    def needs(self):\n        return [('onlyhere', 'needy')]\n"
    )
    world = {"suite": f"{suite}:Needy", "name": "world"}
    with pytest.raises(InputError, match=r"node .* needs onlyhere, which this node does not have"):
        examined(tmp_path / "runs", lab.workers(), tasks=[world], agents=ZERO)


def test_a_policy_that_cannot_be_loaded_is_an_error_before_the_first_trial(lab: Lab, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are no weights"):
        examined(tmp_path, lab.workers(), agents=[{"name": "u", "policy": f"{SUPPORT / 'toys.py'}:Unloadable"}])


@pytest.fixture
def two_nodes(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """As if the cluster had its head and one node alone: asking one of them takes seconds."""
    nodes = sorted(ray.nodes(), key=lambda node: (node["Resources"].get("CPU", 0), node["Resources"].get("GPU", 0)))
    monkeypatch.setattr(ray, "nodes", lambda: [nodes[0], nodes[-1]])
    return lab


def test_the_doctor_says_what_each_node_can_run(two_nodes: Lab, tell: Tell) -> None:
    """As both are this machine, the same is said of both."""
    sections = json.loads(tell("doctor", "--cluster", two_nodes.address, "--json").out)
    nodes, found = sections
    assert nodes == f"cluster at {two_nodes.address}"
    assert all(check["ok"] for check in sections[nodes])
    rooms = [check["detail"].split(";")[0] for check in sections[nodes]]
    assert rooms == ["no CPU or GPU for work", "1 CPU, 1 GPU"]
    assert "gymnasium" in next(check["detail"] for check in sections[found] if check["name"] == "suites")


def test_a_node_on_which_proctor_is_not_installed_is_named(two_nodes: Lab) -> None:
    (first, *_) = examine_nodes(two_nodes.address, "no_such_module:here")
    assert first.problem == "ModuleNotFoundError: No module named 'no_such_module'"
