"""Whatever is lost on a cluster costs attempts only: no trial is lost, and none is changed.

`PROCTOR_FAULT_SCHEDULES` says how many random schedules of faults are tried: 1 by default; more by
`make campaign ARGS="--clusters 20"`."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examining import TOYS, by_key, digests, examination, policy, task
from processes import children
from telling import Tell

from proctor import CancelToken, Run

ray = pytest.importorskip("ray")
from clusters import PLAIN, Lab, done_in, examined, log_of, running, until  # noqa: E402 - only where Ray is

SCHEDULES = int(os.environ.get("PROCTOR_FAULT_SCHEDULES", "1"))
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Lab]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_DEDUP_LOGS", "0")
        patch.setenv("RAY_health_check_period_ms", "500")
        found = Lab([PLAIN, PLAIN])
        try:
            yield found
        finally:
            found.close()


@pytest.fixture
def lab(cluster: Lab) -> Lab:
    """With two nodes, whatever a test before has done."""
    return sized(cluster, 2)


def sized(lab: Lab, nodes: int) -> Lab:
    while len(lab.nodes) < nodes:
        lab.add_node()
    while len(lab.nodes) > nodes:
        lab.lose_node()
    return lab


BOTH = [policy("Recurrent"), policy("TwoStages")]
Digests = dict[str, str | None]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Digests:
    """What the trials of both agents give in this process."""
    return digests(examined(tmp_path_factory.mktemp("undisturbed"), "inline", agents=BOTH))


@pytest.fixture
def alone(undisturbed: Digests) -> Digests:
    """What those of the first agent give."""
    return {key: digest for key, digest in undisturbed.items() if key.startswith("recurrent")}


SLOW = """
import os, sys, time
from pathlib import Path
sys.path.insert(0, {support!r})
from toys import Recurrent

class Slow(Recurrent):
    def __init__(self, *args, folder, **kwargs):
        super().__init__(*args, **kwargs)
        self.folder = Path(folder)
        try:
            self.folder.joinpath("first").open("x").close()
        except FileExistsError:
            time.sleep(1.0)

    def act(self, batch):
        self.folder.joinpath(f"asked-{{os.getpid()}}").touch()
        while self.folder.joinpath("stop").exists():
            time.sleep(0.05)
        if not self.folder.joinpath("go").exists():
            time.sleep(0.1)
        return super().act(batch)
"""


class Slow:
    """The first agent again, whose replicas take a tenth of a second for each answer until they are told to go, and but
    for the first one a second to start."""

    def __init__(self, folder: Path):
        self._folder = folder / "slow"
        self._folder.mkdir()
        file = self._folder / "slow.py"
        file.write_text(SLOW.format(support=str(TOYS.parent)))
        kwargs = {"folder": str(self._folder)}
        self.agents = [{"name": "recurrent", "policy": f"{file}:Slow", "options": {"kwargs": kwargs}}]

    def go(self) -> None:
        (self._folder / "go").touch()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Nobody answers while the block runs, so that no trial ends in it."""
        (self._folder / "stop").touch()
        try:
            yield
        finally:
            (self._folder / "stop").unlink()

    @property
    def asked(self) -> int:
        """How many replicas have been asked."""
        return len(list(self._folder.glob("asked-*")))


@pytest.fixture
def slow(tmp_path: Path) -> Slow:
    return Slow(tmp_path)


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


def test_a_replica_that_is_lost_costs_attempts_only(lab: Lab, alone: Digests, tmp_path: Path, slow: Slow) -> None:
    runs = tmp_path / "runs"
    thread, found = running(lambda: examined(runs, lab.workers(), agents=slow.agents))
    until(lambda: done_in(runs) >= 5)
    assert lab.kill("ReplicaHome", 0)
    slow.go()
    thread.join()
    assert digests(found[0]) == alone
    assert "starts again: the replica of agent" in log_of(runs)


PICKY = """
from pathlib import Path
import ray
from proctor.suites.gymnasium.suite import GymnasiumSuite

FOLDER = Path({folder!r})

class Picky(GymnasiumSuite):
    name = "picky"

    def needs(self):
        node = ray.get_runtime_context().get_node_id() if ray.is_initialized() else ""
        if node in (FOLDER / "known").read_text():
            return super().needs()
        if not (FOLDER / "unfit").exists():
            (FOLDER / "unfit").write_text(node)
        return [("nowhere", "nowhere")] if (FOLDER / "unfit").read_text() == node else super().needs()
"""
"""A suite whose packages are on all nodes but the first that joins later."""


@pytest.fixture
def picky(tmp_path: Path) -> dict[str, Any]:
    """The task again, of that suite."""
    (tmp_path / "picky.py").write_text(PICKY.format(folder=str(tmp_path)))
    (tmp_path / "known").write_text(" ".join(node["NodeID"] for node in ray.nodes() if node["Alive"]))
    return {**task(), "suite": f"{tmp_path / 'picky.py'}:Picky"}


def test_nodes_may_join_and_leave(lab: Lab, alone: Digests, tmp_path: Path, slow: Slow, picky: dict[str, Any]) -> None:
    """A worker for which there was no room has it on a node that joins, and passes over one that lacks a package. Then
    all nodes are lost, and the run waits for another one."""
    runs = tmp_path / "runs"
    thread, found = running(lambda: examined(runs, lab.workers(3), agents=slow.agents, tasks=[picky]))
    until(lambda: done_in(runs) >= 1)
    with slow.stopped():
        lab.add_node()
        until(lambda: "which this node does not have" in log_of(runs) or not thread.is_alive())
        lab.add_node()
        until(lambda: len(lab.actors("WorkerHome")) == 3 or not thread.is_alive())
    (folder,) = runs.iterdir()
    until(lambda: worked(nodes_of(folder)) == 3 or not thread.is_alive())
    with slow.stopped():
        for _ in range(4):
            lab.lose_node()
    slow.go()
    lab.add_node()
    thread.join()
    assert digests(found[0]) == alone
    assert "was lost with its actor or node" in log_of(runs)
    nodes = nodes_of(folder)
    assert worked(nodes) == 4
    assert (tmp_path / "unfit").read_text() not in [node["node"] for node in nodes]
    assert sum(node["trials"] for node in nodes) == len(alone)
    assert found[0].report()["nodes"] == nodes


def nodes_of(folder: Path) -> list[dict[str, Any]]:
    """The nodes on which a run has done trials, or asked a policy."""
    with Run.open(folder).ledger() as ledger:
        return ledger.nodes()


def worked(nodes: list[dict[str, Any]]) -> int:
    """On how many of these trials were done."""
    return sum(node["trials"] > 0 for node in nodes)


def test_a_replica_that_starts_late_is_asked_too(lab: Lab, alone: Digests, tmp_path: Path, slow: Slow) -> None:
    """Trials that begin then ask it; those that run stay with the first one. When both have been asked the run is
    stopped: what is done is kept, and nothing of it is left on the nodes."""
    runs, cancel = tmp_path / "runs", CancelToken()
    slow.go()
    keys: dict[str, Any] = {"agents": slow.agents, "n_trials": 5_000, "nap_s": 0.004}
    thread, found = running(lambda: examined(runs, lab.workers(2, replicas=2), cancel, **keys))
    try:
        until(lambda: slow.asked == 2 or not thread.is_alive(), 120.0)
    finally:
        cancel.cancel()
        thread.join()
    assert slow.asked == 2
    ours = digests(found[0])
    assert len(ours) < 5_000
    assert sum(node["trials"] for node in nodes_of(found[0].path)) == len(ours), (
        "of some it is not known where they ran"
    )
    both = ours.keys() & alone.keys()
    assert both
    assert {key: ours[key] for key in both} == {key: alone[key] for key in both}
    until(lambda: not (lab.actors("WorkerHome") or lab.actors("ReplicaHome")))


def test_a_node_that_stands_still_is_waited_for(lab: Lab, alone: Digests, tmp_path: Path, slow: Slow) -> None:
    """And that the object store is full is no trouble: nothing of a run goes through it."""
    held = []
    room = int(ray.available_resources().get("object_store_memory", 1e8))
    try:
        for _ in range(20):
            held.append(ray.put(np.zeros(room // 20, np.uint8)))
    except ray.exceptions.ObjectStoreFullError:
        pass
    runs = tmp_path / "runs"
    thread, found = running(lambda: examined(runs, lab.workers(), agents=slow.agents))
    until(lambda: done_in(runs) >= 5)
    (stopped,) = lab.actors("WorkerHome")
    everybody = [stopped, *descendants(stopped)]
    for process in everybody:
        os.kill(process, signal.SIGSTOP)
    threading.Event().wait(3.0)
    for process in everybody:
        os.kill(process, signal.SIGCONT)
    slow.go()
    thread.join()
    assert digests(found[0]) == alone
    assert "was lost" not in log_of(runs)
    del held


def descendants(process: int) -> list[int]:
    own = children(process)
    return own + [one for child in own for one in descendants(child)]


def test_the_driver_dies_and_the_run_goes_on(lab: Lab, alone: Digests, tmp_path: Path, slow: Slow, tell: Tell) -> None:
    workers = {"kind": "ray", "count": 1}
    told = {"agents": slow.agents, "tasks": [task()], "n_trials": 24, "num_parallel": 6, "workers": workers}
    runs = tmp_path / "runs"
    (tmp_path / "examination.yml").write_text(json.dumps(examination(runs, **told)))
    proctor = [sys.executable, "-m", "proctor"]
    command = [*proctor, "run", str(tmp_path / "examination.yml"), "--cluster", lab.address, "--quiet"]
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: done_in(runs) >= 5)
    driver.kill()
    driver.wait()
    (folder,) = runs.iterdir()
    kept = done_in(runs)
    until(lambda: not lab.actors("WorkerHome"))
    slow.go()
    resumed = tell("resume", folder, "--quiet")
    assert resumed.code == 0, resumed.err
    assert digests(Run.open(folder)) == alone
    assert 5 <= kept < len(alone)


def test_a_policy_that_dies_or_hangs_for_one_trial_is_found(lab: Lab, tmp_path: Path) -> None:
    """It costs that trial alone; the others are what they would have been."""

    def told(seeds: list[int]) -> list[dict[str, Any]]:
        kwargs = {"seeds": seeds, "nap_s": 30.0}
        return [
            {"name": trouble, "policy": f"{TOYS}:Troubled", "options": {"kwargs": {"trouble": trouble, **kwargs}}}
            for trouble in ("kill", "hang")
        ]

    ours = examined(tmp_path / "ours", "inline", agents=told([]))
    seed = next(result.trial.seed for result in ours.results() if result.steps_total > 4)
    limits = {"retries": 1, "act_s": 2.0}
    theirs = examined(tmp_path / "theirs", lab.workers(), agents=told([seed]), limits=limits)
    found, expected = by_key(theirs), by_key(ours)
    guilty = [key for key, result in found.items() if result.trial.seed == seed]
    assert {found[key].trial.agent for key in guilty} == {"kill", "hang"}
    assert all(found[key].outcome == "policy_error" for key in guilty)
    assert {k: r.digest for k, r in found.items() if k not in guilty} == {
        k: r.digest for k, r in expected.items() if k not in guilty
    }


@pytest.mark.parametrize("seed", range(SCHEDULES))
def test_no_schedule_of_faults_loses_or_changes_a_trial(
    cluster: Lab, undisturbed: Digests, tmp_path: Path, seed: int
) -> None:
    lab = sized(cluster, 3)
    saboteur, found = Saboteur(lab, seed), []

    def examine() -> None:
        try:
            workers = lab.workers(3, replicas=2)
            found.append(examined(tmp_path, workers, nap_s=0.004, agents=BOTH))
        finally:
            saboteur.over.set()

    thread = threading.Thread(target=examine)
    thread.start()
    saboteur.work()
    thread.join()
    assert found, f"the run ended with an error after {saboteur.done}"
    assert digests(found[0]) == undisturbed, saboteur.done
