"""Whether a cluster has room: whether its nodes, empty, could hold what a run asks for.

Ray lets whoever finds no room wait for it, which is right while others work there, and for ever where no node is large
enough. What is counted here are whole nodes: who waits for others to end waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proctor.errors import InputError
from proctor.record.nodes import name_of

RESOURCES = {"num_cpus": "CPU", "num_gpus": "GPU"}
PARTS = 10_000
"""Ray counts in ten-thousandths."""

Asked = Mapping[str, float]
"""`num_cpus` and `num_gpus` of an actor."""


class Room:
    """What the nodes that live have, and what is left of it."""

    def __init__(self, ray: Any):
        self._nodes = [node for node in ray.nodes() if node["Alive"]]
        self._left = [
            {name: round(node["Resources"].get(kind, 0.0) * PARTS) for name, kind in RESOURCES.items()}
            for node in self._nodes
        ]

    def take(self, asked: Asked, most: int) -> int:
        """Place actors as Ray spreads them, one on each node in turn; how many have found room, at most `most`."""
        wanted = {name: round(amount * PARTS) for name, amount in asked.items() if amount}
        if not wanted:
            return most if self._nodes else 0
        placed, before = 0, -1
        while before < placed < most:
            before = placed
            for left in self._left:
                if placed < most and all(left[name] >= amount for name, amount in wanted.items()):
                    left.update({name: left[name] - amount for name, amount in wanted.items()})
                    placed += 1
        return placed

    def require(self, who: str, asked: Asked, options: str, others: Sequence[str] = ()) -> None:
        """Raise InputError where one more finds no room. `options` are those that say what it asks for; `others`: who
        was placed before."""
        if self.take(asked, 1):
            return
        wants = _said({RESOURCES[name]: amount for name, amount in asked.items()})
        have = "; ".join(f"{_name(node)}: {_said(node['Resources'])}" for node in self._nodes) or "no node lives"
        beside = f" beside {' and '.join(others)}" if others else ""
        raise InputError(
            f"{who} asks for {wants} ({options}), for which no node of the cluster has room{beside}: {have}. Ask for "
            "less, or start a node that has it; wait_for_nodes: true waits for one, as on a cluster that adds nodes"
        )


def _name(node: Mapping[str, Any]) -> str:
    return name_of({"node": node["NodeID"], "host": node["NodeManagerHostname"], "address": node["NodeManagerAddress"]})


def _said(resources: Mapping[str, float]) -> str:
    """`1 CPU and 0.5 GPU`; of a node or of an actor."""
    named = [(resources.get(kind, 0.0), kind) for kind in RESOURCES.values()]
    return " and ".join(f"{n:g} {kind}{'s' if n > 1 else ''}" for n, kind in named if n) or "no CPU or GPU"
