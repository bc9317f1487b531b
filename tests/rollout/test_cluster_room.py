"""Whether nodes could hold what a run asks for, counted as Ray counts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import InputError
from proctor.rollout.cluster.room import Room

PARTS = st.integers(0, 40_000).map(lambda parts: parts / 10_000)
NODES = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4)), min_size=1, max_size=4)


class Nodes:
    """In the place of Ray: nodes with so many CPUs and GPUs."""

    def __init__(self, *sizes: tuple[float, float], alive: bool = True):
        self._sizes, self._alive = sizes, alive

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {
                "Alive": self._alive, "NodeID": f"{i}" * 12, "NodeManagerHostname": f"host{i}",
                "NodeManagerAddress": f"10.0.0.{i}", "Resources": {"CPU": float(cpus), "GPU": float(gpus)},
            }
            for i, (cpus, gpus) in enumerate(self._sizes)
        ]  # fmt: skip


def asked(cpus: float = 0.0, gpus: float = 0.0) -> dict[str, float]:
    return {"num_cpus": cpus, "num_gpus": gpus}


@given(NODES, PARTS, PARTS, st.integers(0, 6))
def test_as_many_are_placed_as_fit_node_by_node(
    nodes: list[tuple[int, int]], cpus: float, gpus: float, most: int
) -> None:
    """The order of placing changes nothing in how many of one kind fit."""

    def fit(node: tuple[int, int]) -> int:
        kinds = [
            round(have * 10_000) // round(want * 10_000) for have, want in zip(node, (cpus, gpus), strict=True) if want
        ]
        return min(kinds, default=most)

    assert Room(Nodes(*nodes)).take(asked(cpus, gpus), most) == min(sum(map(fit, nodes)), most)


@given(NODES, PARTS, st.integers(0, 6))
def test_what_is_taken_is_not_there_for_others(nodes: list[tuple[int, int]], gpus: float, most: int) -> None:
    """Twice some is as much as all at once."""
    room = Room(Nodes(*nodes))
    twice = room.take(asked(gpus=gpus), most) + room.take(asked(gpus=gpus), most)
    assert twice == Room(Nodes(*nodes)).take(asked(gpus=gpus), 2 * most)


def test_ten_tenths_are_a_whole() -> None:
    assert Room(Nodes((1, 1))).take(asked(0.1, 0.1), 20) == 10
    assert Room(Nodes((1, 1))).take(asked(0.3333, 0.3333), 20) == 3


def test_actors_are_spread() -> None:
    """Two workers leave no whole GPU on two nodes, though they would fit on one."""
    room = Room(Nodes((1, 1), (1, 1)))
    room.take(asked(0.5, 0.5), 2)
    with pytest.raises(InputError, match=r"a replica asks for 1 GPU .* has room beside 2 workers"):
        room.require("a replica", asked(gpus=1.0), "options", ["2 workers"])


def test_who_finds_no_room_is_told_what_each_node_has() -> None:
    with pytest.raises(InputError) as found:
        Room(Nodes((0, 0), (8, 1), (1, 0))).require("a worker", asked(1.0, 2.0), "workers.options: cpus, gpus")
    assert str(found.value) == (
        "a worker asks for 1 CPU and 2 GPUs (workers.options: cpus, gpus), for which no node of the cluster has room: "
        "host0 (10.0.0.0, 000000): no CPU or GPU; host1 (10.0.0.1, 111111): 8 CPUs and 1 GPU; "
        "host2 (10.0.0.2, 222222): 1 CPU. Ask for less, or start a node that has it; wait_for_nodes: true waits for "
        "one, as on a cluster that adds nodes"
    )


def test_nodes_that_have_left_have_no_room() -> None:
    with pytest.raises(InputError, match="no node lives"):
        Room(Nodes((8, 1), alive=False)).require("a worker", asked(), "options")
