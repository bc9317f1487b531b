"""A Ray cluster whose nodes are all on this machine, and runs on it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import ray
from examining import examination, policy, task
from processes import alive, children
from ray.cluster_utils import Cluster

from proctor import CancelToken, EvalConfig, Run, config_from_dict, run_evaluation

PLAIN = {"num_cpus": 1}
"""A node of one CPU."""


class Lab:
    """A cluster of a head without work and the nodes that are given, to which this process is connected."""

    def __init__(self, nodes: Sequence[dict[str, Any]]) -> None:
        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        self.nodes = [self.cluster.add_node(**node) for node in nodes]
        self.address: str = self.cluster.address
        self.connect()

    def connect(self) -> None:
        """Connect anew: this process may be connected for a run, or to another module's cluster."""
        ray.shutdown()
        ray.init(address=self.address, log_to_driver=False)

    def workers(self, count: int = 1, **options: Any) -> dict[str, Any]:
        return {"kind": "ray", "count": count, "options": {"address": self.address, **options}}

    def lose_node(self) -> None:
        self.cluster.remove_node(self.nodes.pop(0), allow_graceful=False)

    def add_node(self) -> None:
        self.nodes.append(self.cluster.add_node(**PLAIN))

    def actors(self, kind: str) -> list[int]:
        """Processes of actors of a kind, on the nodes of this cluster."""
        nodes = [self.cluster.head_node, *self.nodes]  # replicas need no CPU, so that the head may have some
        raylets = [one.process.pid for node in nodes for one in node.all_processes["raylet"]]
        return [pid for raylet in raylets for pid in children(raylet) if _is_actor(pid, kind)]

    def kill(self, kind: str, which: int) -> bool:
        """Kill the process of an actor, if there is one."""
        found = self.actors(kind)
        with suppress(ProcessLookupError):
            if found:
                os.kill(found[which % len(found)], signal.SIGKILL)
        return bool(found)

    def close(self) -> None:
        ray.shutdown()
        self.cluster.shutdown()


def _is_actor(pid: int, kind: str) -> bool:
    """While a method runs, its name stands behind the class's."""
    with suppress(OSError):
        return alive(pid) and Path(f"/proc/{pid}/cmdline").read_bytes().startswith(f"ray::{kind}".encode())
    return False


def examined(root: Path, workers: Any, cancel: CancelToken | None = None, nap_s: float = 0.0, **keys: Any) -> Run:
    """A run of 24 trials of each agent, six at a time, on toys whose steps take so long."""
    return run_evaluation(config_of(root, workers, nap_s, **keys), cancel=cancel)


def config_of(root: Path, workers: Any, nap_s: float = 0.0, **keys: Any) -> EvalConfig:
    """Of such a run."""
    told = {
        "agents": [policy("Recurrent")], "tasks": [task(kwargs={"nap_s": nap_s})], "n_trials": 24, "num_parallel": 6,
        "workers": workers, **keys,
    }  # fmt: skip
    return config_from_dict(examination(root, **told))


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
        time.sleep(0.1)


def done_in(root: Path) -> int:
    """How many records a run in this folder has written."""
    return len(list(root.glob("*/trials/*.npz")))


def log_of(root: Path) -> str:
    return "".join(file.read_text() for file in root.glob("*/run.log"))
