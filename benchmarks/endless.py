"""Proctor working on and on, so that two sides can take turns (`benchmarks/turns.py`).

    python -m benchmarks.endless CASE [PLACEMENT [INTERPRETER | ray]]

With an interpreter, environments live in it as in a runtime of their own; with `ray`, workers and one replica of the
policy are actors of a Ray cluster of this machine.

It imports only what every version of Proctor exports, so that another checkout's interpreter can run it, too.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from benchmarks.folders import run_folder
from benchmarks.turns import Counter
from proctor import Batch, Policy, config_from_dict, run_evaluation

ENOUGH_TRIALS = 100_000
"""More than are ever run."""


class Counted(Policy):
    """Gives always the same action, and counts the rows that belong to trials."""

    def __init__(self, action: list[float]):
        self._action, self._counter = np.array(action, np.float32), Counter()

    def act(self, batch: Batch) -> np.ndarray:
        self._counter.add(len({id(trial) for trial in batch.trials}))  # rows that pad the batch repeat a trial
        return np.tile(self._action, (len(batch), 1))


def _gymnasium(name: str, **kwargs: Any) -> dict[str, Any]:
    return {"suite": "gymnasium", "options": {"id": f"benchmarks.envs:{name}-v0", "kwargs": kwargs}}


ARCH = {"anatomy": {"arch_type": "I", "seed": 1, "target_branches": ["lcca"]}}
MOTION = {"motions": "procedural:turn", "max_episode_length_s": 5.0}
CASES: dict[str, tuple[dict[str, Any], list[float], dict[str, Any]]] = {
    "trivial": (_gymnasium("Trivial"), [0.0] * 4, {"num_parallel": 16, "workers": "inline"}),
    "busy0.5": (_gymnasium("Busy", step_s=0.0005), [0.0] * 4, {"num_parallel": 16, "workers": 2}),
    "busy2": (_gymnasium("Busy", step_s=0.002), [0.0] * 4, {"num_parallel": 16, "workers": 2}),
    "cameras": (_gymnasium("Cameras"), [0.0] * 4, {"num_parallel": 16, "workers": 2}),
    "endovascular": (
        {"suite": "endovascular", "options": ARCH},
        [18.0, 0.4],
        {"num_parallel": 32, "workers": 2, "max_episode_steps": 120},
    ),
    "soccer": (
        {"suite": "soccer", "options": {"task": "LowerT1GoaliePenaltyKick-v0"}},
        [0.0] * 12,
        {"num_parallel": 8, "workers": 2, "max_episode_steps": 250},
    ),
    "tracking": ({"suite": "tracking", "options": MOTION}, [0.0] * 29, {"num_parallel": 64, "workers": "inline"}),
}
"""The task, the action that every step gets, and the keys of the run."""


def config(case: str, placement: str, python: str | None = None) -> dict[str, Any]:
    task, action, run = CASES[case]
    there = {} if python in (None, "ray") else {"runtime": {"python": python}}
    cluster = {"workers": {"kind": "ray", "count": 2, "options": {"address": "local"}}} if python == "ray" else {}
    options: dict[str, Any] = {"placement": placement, "kwargs": {"action": action}}
    if case == "tracking":
        options["pad_to"] = run["num_parallel"]
    return {
        "name": "benchmark",
        "agents": [{"name": "agent", "policy": "benchmarks.endless:Counted", "options": options}],
        "tasks": [{**task, **there, "n_trials": ENOUGH_TRIALS}],
        "record": "series",
        "scoring": "success",
        **run,
        **cluster,
    }


def main(case: str, placement: str = "engine", python: str | None = None) -> None:
    with run_folder() as folder:
        run_evaluation(config_from_dict({**config(case, placement, python), "output_root": folder}))


if __name__ == "__main__":
    main(*sys.argv[1:])
