"""On which machines the trials of a run were done, where there are several: what is noted of each trial, and what a
progress display shows of each node."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from proctor.record.nodes import name_of
from proctor.rollout.crew import Member
from proctor.rollout.progress import NodeProgress
from proctor_host.messages import Done
from proctor_host.trials import Trial


class Placed(NamedTuple):
    """Where a trial was done: the numbers of two nodes in the run's list of them, that of its environment and that of
    its policy. None: it was asked where the environment was, or by the engine."""

    trial: Trial
    worker: int
    policy: int | None


def told_of(node: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a node."""
    return {name: node[name] for name in ("node", "host", "address", "devices") if name in node}


class Whereabouts:
    """`known`: the nodes that earlier sessions have noted, to which new ones are added."""

    def __init__(self, known: list[dict[str, Any]]):
        self.nodes = known
        self.progress: dict[str, NodeProgress] = {}
        self._numbers = {(node["node"], tuple(node["devices"])): i for i, node in enumerate(known)}
        self._new: list[Placed] = []

    def number(self, node: Mapping[str, Any]) -> int:
        """Of a node with the devices that were used there."""
        key = node["node"], tuple(node["devices"])
        if key not in self._numbers:
            self._numbers[key] = len(self.nodes)
            self.nodes.append(told_of(node))
        return self._numbers[key]

    def done(self, node: Mapping[str, Any], done: Done, policy: Mapping[str, Any]) -> None:
        """A trial was done on the one node, and its policy asked on the other; an empty one is not known."""
        if node:
            self._new.append(
                Placed(done.result.trial, self.number(node), self.number(policy) if policy else None),
            )
            own = self._of(node)
            own.trials += 1
            own.busy_s += done.spent.environment_s + done.spent.recording_s

    def lost(self, node: Mapping[str, Any], attempts: int) -> None:
        """Attempts came to nothing since a worker or a replica was lost there."""
        if node:
            self._of(node).lost += attempts

    def _of(self, node: Mapping[str, Any]) -> NodeProgress:
        name = name_of(node)
        if name not in self.progress:
            self.progress[name] = NodeProgress(since=time.monotonic())
        return self.progress[name]

    def look(self, members: list[Member]) -> None:
        """Bring up to date how many workers each node has, and for how long they were there to be used."""
        now = time.monotonic()
        counts: dict[str, int] = {}
        for member in members:
            if member.ready and member.worker.node:
                own = self._of(member.worker.node)
                counts[f"{id(own)}"] = counts.get(f"{id(own)}", 0) + 1
        for own in self.progress.values():
            own.worker_s += own.workers * (now - own.looked if own.looked else 0.0)
            own.looked, own.workers = now, counts.get(f"{id(own)}", 0)

    def take(self) -> list[Placed]:
        """What is to be noted since the last call."""
        new, self._new = self._new, []
        return new
