"""What `proctor doctor --cluster` asks the nodes of a cluster."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from proctor.record.nodes import name_of
from proctor.rollout.cluster.actors import describe_node
from proctor.rollout.cluster.joining import connect

ANSWER_S = 120.0


@dataclass(frozen=True)
class Examined:
    """A node. `about` is what it says of itself, `found` what the function gave there; `problem`: why it said
    nothing."""

    name: str
    resources: dict[str, float]
    about: dict[str, Any] = field(default_factory=dict)
    found: Any = None
    problem: str | None = None


def examine(address: str, function: str) -> Iterator[Examined]:
    """Call a function, MODULE:NAME, on every node that lives. Raises InputError where there is no cluster."""
    ray = connect(address)
    nodes = [node for node in ray.nodes() if node["Alive"]]
    asked = [_remote(ray, node["NodeID"]).remote(function) for node in nodes]
    for node, answer in zip(nodes, asked, strict=True):
        where = {"node": node["NodeID"], "host": node["NodeManagerHostname"], "address": node["NodeManagerAddress"]}
        resources = {name: node["Resources"].get(name, 0.0) for name in ("CPU", "GPU")}
        try:
            about, found = ray.get(answer, timeout=ANSWER_S)
            yield Examined(name_of(where), resources, about, found)
        except ray.exceptions.GetTimeoutError:
            yield Examined(name_of(where), resources, problem=f"gave no answer within {ANSWER_S:g} s")
        except (ray.exceptions.RayError, ImportError) as problem:
            said = str(problem).strip().splitlines()
            yield Examined(name_of(where), resources, problem=said[-1] if said else type(problem).__name__)


def _remote(ray: Any, node: str) -> Any:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    there = NodeAffinitySchedulingStrategy(node, soft=False)
    return ray.remote(_look).options(num_cpus=0, max_retries=0, scheduling_strategy=there)


def _look(function: str) -> tuple[dict[str, Any], Any]:
    """Runs on a node."""
    module, _, name = function.partition(":")
    return describe_node(), getattr(importlib.import_module(module), name)()
