"""Runs on a cluster of several nodes, which are all on this machine: bytes are those of processes, and whatever is lost
costs attempts only.

`PROCTOR_FAULT_SCHEDULES` says how many random schedules of faults are tried: 2 by default; more by
`make campaign ARGS="--clusters 20"`."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examining import by_key, digests, policy, task

from proctor import CancelToken, Run, config_from_dict, run_evaluation
from proctor.errors import InputError
from proctor.rollout.cluster.backend import connect
from proctor.rollout.cluster.doctor import examine
from proctor.testing import BackendConformance

ray = pytest.importorskip("ray")
psutil = pytest.importorskip("psutil")
from ray.cluster_utils import Cluster  # noqa: E402 - only where Ray is

SUPPORT = Path(__file__).parents[1] / "support"
SCHEDULES = int(os.environ.get("PROCTOR_FAULT_SCHEDULES", "2"))
AGENTS = ["Recurrent", "TwoStages"]

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


class Lab:
    """A cluster of a head without work and three nodes of one CPU each."""

    def __init__(self) -> None:
        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        self.nodes = [self.cluster.add_node(num_cpus=1) for _ in range(3)]
        self.address: str = self.cluster.address
        ray.shutdown()  # of another module's cluster, which this process may still be connected to
        ray.init(address=self.address, log_to_driver=False)

    def workers(self, count: int = 3, **options: Any) -> dict[str, Any]:
        return {"kind": "ray", "count": count, "options": {"address": self.address, "replicas": 2, **options}}

    def lose_node(self) -> None:
        self.cluster.remove_node(self.nodes.pop(0), allow_graceful=False)

    def add_node(self) -> None:
        self.nodes.append(self.cluster.add_node(num_cpus=1))

    def actors(self, kind: str) -> list[Any]:
        """Processes of actors of a kind, on the nodes of this cluster."""
        found = []
        nodes = [self.cluster.head_node, *self.nodes]  # replicas need no CPU, so that the head may have some
        for raylet in [one.process for node in nodes for one in node.all_processes["raylet"]]:
            with suppress(psutil.NoSuchProcess):
                children = psutil.Process(raylet.pid).children()
                found += [child for child in children if child.name().startswith(f"ray::{kind}") and _lives(child)]
        return found  # while a method runs, its name stands behind the class's

    def kill(self, kind: str, which: int) -> bool:
        """Kill the process of an actor, if there is one."""
        found = self.actors(kind)
        with suppress(ProcessLookupError):
            if found:
                os.kill(found[which % len(found)].pid, signal.SIGKILL)
        return bool(found)

    def close(self) -> None:
        ray.shutdown()
        self.cluster.shutdown()


def _lives(process: psutil.Process) -> bool:
    return process.status() != psutil.STATUS_ZOMBIE


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_DEDUP_LOGS", "0")
        patch.setenv("RAY_health_check_period_ms", "500")
        found = Lab()
        try:
            yield found
        finally:
            found.close()


@pytest.fixture
def whole(lab: Lab) -> Lab:
    """With three nodes, whatever a test before has done."""
    while len(lab.nodes) < 3:
        lab.add_node()
    while len(lab.nodes) > 3:
        lab.lose_node()
    return lab


def agents(*names: str, **options: Any) -> list[dict[str, Any]]:
    return [policy(name, **options) for name in names]


# The same bytes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["env", "rows", "batch", "columns", "vector"])
def test_bytes_are_those_of_this_process(whole: Lab, examine: Callable[..., Run], kind: str, tmp_path: Path) -> None:
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
    world = {"suite": f"{SUPPORT / 'many_worlds.py'}:ManyWorlds", "name": "world", "options": {"kind": kind}}
    keys: dict[str, Any] = {
        "agents": [
            {"name": f"{name}-{place}", "policy": f"{file}:{name}", "options": {"placement": place}}
            for name in ("Plain", "Stateful")
            for place in ("auto", "worker", "engine")
        ],
        "tasks": [{**world, "wait_steps": 1}],
        "record": {"level": "series", "observations": True},
    }
    ours = examine(**keys, workers="inline")
    theirs = examine(**keys, workers=whole.workers(2))
    assert digests(theirs) == digests(ours)


def test_records_come_home_where_the_folder_is_not_shared(
    whole: Lab, examine: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records and films are sent, and are the same."""
    pole = {"suite": "gymnasium", "name": "pole", "options": {"id": "CartPole-v1"}}
    keys: dict[str, Any] = {
        "agents": [{"name": "random", "policy": "random"}],
        "tasks": [pole],
        "n_trials": 4,
        "record": {"level": "video"},
    }
    ours = examine(**keys, workers="process")
    monkeypatch.setattr("proctor.rollout.cluster.backend.probe_in", lambda folder: ("no/such/file", "x"))
    theirs = examine(**keys, workers=whole.workers(2))
    assert digests(theirs) == digests(ours)
    for result in theirs.results():
        assert result.npz is not None
        assert (theirs.path / result.npz).stat().st_size == result.npz_size
    films = [r.video for r in theirs.results() if r.video is not None]
    assert films
    assert all((theirs.path / film).stat().st_size > 1000 for film in films)


def test_environments_and_policies_may_live_in_runtimes_of_their_nodes(
    whole: Lab, examine: Callable[..., Run], tmp_path: Path
) -> None:
    """Bytes are those without a runtime; policies in runtimes have replicas, too."""
    (tmp_path / "lean.py").write_text(
        "import numpy as np\nfrom proctor import Policy\n"
        "class Lean(Policy):\n"
        "    def act(self, batch):\n        return (batch.observation[:, 2] > 0).astype(np.int64)\n"
    )
    pole = {"suite": "gymnasium", "name": "pole", "options": {"id": "CartPole-v1"}}
    lean = {"name": "lean", "policy": f"{tmp_path / 'lean.py'}:Lean"}
    there = {"runtime": {"python": sys.executable}}
    ours = examine(agents=[lean], tasks=[pole], n_trials=4, workers="process")
    theirs = examine(agents=[lean | there], tasks=[pole | there], n_trials=4, workers=whole.workers(1, replicas=1))
    assert digests(theirs) == digests(ours)


class TestRayWorkers(BackendConformance):
    """The laws of every backend."""

    kind = "ray"

    @pytest.fixture(autouse=True)
    def on_the_cluster(self, whole: Lab) -> None:
        type(self).options = {"address": whole.address, "replicas": 1}


# Faults ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """What the trials of the fault schedules give in this process."""
    return digests(_examined(tmp_path_factory.mktemp("undisturbed"), "inline"))


def _examined(root: Path, workers: Any, cancel: CancelToken | None = None, **keys: Any) -> Run:
    told: dict[str, Any] = {
        "agents": agents(*AGENTS), "tasks": [task(kwargs={"nap_s": 0.004})], "n_trials": 24, "num_parallel": 6,
        "scoring": "success", "report": {"pictures": False}, "output_root": str(root), "workers": workers, **keys,
    }  # fmt: skip
    return run_evaluation(config_from_dict(told), cancel=cancel)


class Saboteur:
    """Does something bad every now and then, as its seed says, until it is told to stop."""

    def __init__(self, lab: Lab, seed: int):
        self.lab, self.random, self.over = lab, random.Random(seed), threading.Event()
        self.done: list[str] = []

    def work(self) -> None:
        """On the main thread, as Ray adds nodes there only."""
        self.over.wait(self.random.uniform(1.0, 3.0))
        for _ in range(self.random.randint(1, 3)):
            if self.over.is_set():
                return
            what = self.random.choice(["worker", "worker", "replica", "replica", "node", "join"])
            which = self.random.randrange(8)
            self.done.append(what)
            if what == "worker":
                self.lab.kill("WorkerHome", which)
            elif what == "replica":
                self.lab.kill("ReplicaHome", which)
            elif what == "node" and len(self.lab.nodes) > 1:
                self.lab.lose_node()
            elif what == "join" and len(self.lab.nodes) < 4:
                self.lab.add_node()
            self.over.wait(self.random.uniform(0.2, 1.5))


@pytest.mark.parametrize("seed", range(SCHEDULES))
def test_no_schedule_of_faults_loses_or_changes_a_trial(
    whole: Lab, undisturbed: dict[str, str | None], tmp_path: Path, seed: int
) -> None:
    saboteur, found = Saboteur(whole, seed), []

    def examined() -> None:
        try:
            found.append(_examined(tmp_path, whole.workers(3)))
        finally:
            saboteur.over.set()

    running = threading.Thread(target=examined)
    running.start()
    saboteur.work()
    running.join()
    assert found, f"the run ended with an error after {saboteur.done}"
    assert digests(found[0]) == undisturbed, saboteur.done


def running(function: Callable[[], Run]) -> tuple[threading.Thread, list[Any]]:
    """The function on a thread of its own, with what it gives or raises."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(function())
        except Exception as problem:
            found.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, found


def until(condition: Callable[[], Any], seconds: float = 60.0) -> None:
    """Wait for something to become true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.02)


def done_in(root: Path) -> int:
    """How many records a run in this folder has written."""
    return len(list(root.glob("*/trials/*.npz")))


def log_of(root: Path) -> str:
    return "".join(file.read_text() for file in root.glob("*/run.log"))


def test_a_replica_that_is_lost_costs_attempts_only(
    whole: Lab, undisturbed: dict[str, str | None], tmp_path: Path
) -> None:
    thread, found = running(lambda: _examined(tmp_path, whole.workers(2, replicas=1)))
    until(lambda: done_in(tmp_path) >= 5)
    assert whole.kill("ReplicaHome", 0)
    assert whole.kill("ReplicaHome", 1)
    thread.join()
    assert digests(found[0]) == undisturbed
    assert "starts again: the replica of agent" in log_of(tmp_path)


def test_nodes_may_leave_and_join(whole: Lab, undisturbed: dict[str, str | None], tmp_path: Path) -> None:
    """All nodes are lost, and the run waits for others."""
    thread, found = running(lambda: _examined(tmp_path, whole.workers(3)))
    until(lambda: done_in(tmp_path) >= 5)
    for _ in range(3):
        whole.lose_node()
    whole.add_node()
    thread.join()
    assert digests(found[0]) == undisturbed
    assert "was lost with its actor or node" in log_of(tmp_path)
    with found[0].ledger() as ledger:
        nodes = ledger.nodes()
        assert sum(node["trials"] for node in nodes) == len(undisturbed)
        assert len(nodes) > 1
        assert len(list(ledger.placed())) == len(undisturbed)
    assert found[0].report()["nodes"] == nodes


def test_a_worker_joins_when_there_is_room(whole: Lab, undisturbed: dict[str, str | None], tmp_path: Path) -> None:
    """More workers than there are CPUs: the others wait for a node."""
    thread, found = running(lambda: _examined(tmp_path, whole.workers(4)))
    until(lambda: done_in(tmp_path) >= 5)
    whole.add_node()
    thread.join()
    assert digests(found[0]) == undisturbed


def test_a_replica_that_starts_late_is_asked_too(
    whole: Lab, undisturbed: dict[str, str | None], tmp_path: Path
) -> None:
    """Trials that begin then ask it; those that run stay with the first one. The run ends when both have been asked."""
    file, told = tmp_path / "late.py", tmp_path / "told"
    told.mkdir()
    file.write_text(
        f"import os, sys, time\nfrom pathlib import Path\nsys.path.insert(0, {str(SUPPORT)!r})\n"
        "from toys import Recurrent\n"
        "class Late(Recurrent):\n"
        "    def __init__(self, *args, folder, **kwargs):\n"
        "        super().__init__(*args, **kwargs)\n"
        "        self.folder = Path(folder)\n"
        "        try:\n            (self.folder / 'first').open('x')\n"
        "        except FileExistsError:\n            time.sleep(1.0)\n"
        "    def act(self, batch):\n"
        "        (self.folder / f'pid-{os.getpid()}').touch()\n        return super().act(batch)\n"
    )
    late = {"name": "recurrent", "policy": f"{file}:Late", "options": {"kwargs": {"folder": str(told)}}}
    cancel, many = CancelToken(), {"n_trials": 5_000}
    thread, found = running(lambda: _examined(tmp_path / "runs", whole.workers(2), cancel, agents=[late], **many))
    try:
        until(lambda: len(list(told.glob("pid-*"))) == 2 or not thread.is_alive(), 120.0)
    finally:
        cancel.cancel()
        thread.join()
    assert len(list(told.glob("pid-*"))) == 2
    ours = digests(found[0])
    both = ours.keys() & undisturbed.keys()
    assert both
    assert {key: ours[key] for key in both} == {key: undisturbed[key] for key in both}


def test_a_node_that_stands_still_is_waited_for(whole: Lab, undisturbed: dict[str, str | None], tmp_path: Path) -> None:
    thread, found = running(lambda: _examined(tmp_path, whole.workers(2, replicas=1)))
    until(lambda: done_in(tmp_path) >= 5)
    stopped = whole.actors("WorkerHome")[0]
    everybody = [stopped, *stopped.children(recursive=True)]
    for process in everybody:
        process.suspend()
    time.sleep(3.0)
    for process in everybody:
        process.resume()
    thread.join()
    assert digests(found[0]) == undisturbed
    assert "was lost" not in log_of(tmp_path)


def test_a_full_object_store_is_no_trouble(whole: Lab, undisturbed: dict[str, str | None], tmp_path: Path) -> None:
    """Nothing of a run goes through it."""
    held = []
    room = int(ray.available_resources().get("object_store_memory", 1e8))
    try:
        for _ in range(20):
            held.append(ray.put(np.zeros(room // 20, np.uint8)))
    except ray.exceptions.ObjectStoreFullError:
        pass
    found = _examined(tmp_path, whole.workers(2, replicas=1))
    assert digests(found) == undisturbed
    del held


def test_the_driver_dies_and_the_run_goes_on(whole: Lab, undisturbed: dict[str, str | None], tmp_path: Path) -> None:
    told = {
        "agents": agents(*AGENTS), "tasks": [task(kwargs={"nap_s": 0.004})], "n_trials": 24, "num_parallel": 6,
        "scoring": "success", "report": {"pictures": False}, "output_root": str(tmp_path / "runs"),
    }  # fmt: skip
    (tmp_path / "examination.yml").write_text(json.dumps(told))
    proctor = [sys.executable, "-m", "proctor"]
    command = [*proctor, "run", str(tmp_path / "examination.yml"), "--cluster", whole.address, "--quiet"]
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: done_in(tmp_path / "runs") >= 5)
    driver.kill()
    driver.wait()
    (folder,) = (tmp_path / "runs").iterdir()
    kept = done_in(tmp_path / "runs")
    until(lambda: not whole.actors("WorkerHome"))
    resumed = subprocess.run([*proctor, "resume", str(folder), "--quiet"], capture_output=True, text=True, check=False)
    assert resumed.returncode == 0, resumed.stderr
    run = Run.open(folder)
    assert digests(run) == undisturbed
    assert kept >= 5


def test_a_node_without_a_suite_s_packages_is_named(
    whole: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        _examined(tmp_path, whole.workers(2), tasks=[world], agents=[{"name": "zero", "policy": "zero"}])


def test_a_policy_that_cannot_be_loaded_is_an_error_before_the_first_trial(whole: Lab, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are no weights"):
        _examined(tmp_path, whole.workers(2), agents=agents("Unloadable"))


@pytest.mark.parametrize("trouble", ["kill", "hang"])
def test_a_policy_that_dies_or_hangs_for_one_trial_is_found(whole: Lab, tmp_path: Path, trouble: str) -> None:
    """It costs that trial alone; the others are what they would have been."""
    ours = _examined(tmp_path / "ours", "inline", agents=agents("Troubled", kwargs={"trouble": "none", "seeds": []}))
    seed = next(result.trial.seed for result in ours.results() if result.steps_total > 4)
    told = {"trouble": trouble, "seeds": [seed], "nap_s": 30.0}
    limits = {"retries": 1, "act_s": 2.0}
    workers = whole.workers(2, replicas=1)
    theirs = _examined(tmp_path / "theirs", workers, agents=agents("Troubled", kwargs=told), limits=limits)
    found, expected = by_key(theirs), by_key(ours)
    guilty = [key for key, result in found.items() if result.trial.seed == seed]
    assert guilty
    assert all(found[key].outcome == "policy_error" for key in guilty)
    assert {k: r.digest for k, r in found.items() if k not in guilty} == {
        k: r.digest for k, r in expected.items() if k not in guilty
    }


def test_a_run_can_be_stopped(whole: Lab, tmp_path: Path) -> None:
    """What is done is kept, and nothing of it is left on the nodes."""
    cancel = CancelToken()
    told = {
        "agents": agents("Recurrent"), "tasks": [task(kwargs={"nap_s": 0.01})], "n_trials": 200, "num_parallel": 6,
        "scoring": "success", "report": {"pictures": False}, "output_root": str(tmp_path), "workers": whole.workers(2),
    }  # fmt: skip
    thread, found = running(lambda: run_evaluation(config_from_dict(told), cancel=cancel))
    until(lambda: done_in(tmp_path) >= 5)
    cancel.cancel()
    thread.join()
    assert 5 <= len(list(found[0].results())) < 200
    until(lambda: not (whole.actors("WorkerHome") or whole.actors("ReplicaHome")))


def test_the_doctor_says_what_each_node_can_run(whole: Lab) -> None:
    """The head and three nodes; as they are all this machine, the same is said of all of them."""
    said = subprocess.run(
        [sys.executable, "-m", "proctor", "doctor", "--cluster", whole.address, "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    sections = json.loads(said.stdout)
    nodes, found = sections
    assert nodes == f"cluster at {whole.address}"
    assert len(sections[nodes]) == 4
    assert all(check["ok"] for check in sections[nodes])
    assert sorted(check["detail"].split(";")[0] for check in sections[nodes]) == [
        *["1 CPU"] * 3,
        "no CPU or GPU for work",
    ]
    assert "gymnasium" in next(check["detail"] for check in sections[found] if check["name"] == "suites")


def test_a_node_on_which_proctor_is_not_installed_is_named(whole: Lab) -> None:
    (first, *_) = examine(whole.address, "no_such_module:here")
    assert first.problem == "ModuleNotFoundError: No module named 'no_such_module'"


def test_where_there_is_no_cluster_an_error_says_how_to_start_one(tmp_path: Path) -> None:
    code = (
        "from proctor.rollout.cluster.backend import connect\n"
        "from proctor.errors import InputError\n"
        "try:\n    connect('127.0.0.1:1')\nexcept InputError as error:\n    print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert "ray start --head" in said.stdout


def test_a_client_s_address_is_refused_with_what_to_do() -> None:
    with pytest.raises(InputError, match="start the run on a node of the cluster, with the address auto or HOST:PORT"):
        connect("ray://127.0.0.1:10001")
