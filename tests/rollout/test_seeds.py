"""Whether the seed of an environment changes anything is tried out before the first trial, and kept with the run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examining import examination

from proctor import Run, config_from_dict, run_evaluation
from proctor.runs.merge import merge
from proctor.verdict.comparison.compare import compare

Examine = Callable[..., Run]


def task(kind: str, **kwargs: Any) -> dict[str, Any]:
    return {"suite": "gymnasium", "name": kind, "options": {"id": f"seed_walk:SeedWalk-{kind}-v0", "kwargs": kwargs}}


AGENTS = [{"name": "zero", "policy": "zero"}, {"name": "random", "policy": "random"}]


@pytest.mark.parametrize("workers", ["inline", 2])
def test_only_an_environment_that_ignores_its_seed_is_said_to(examine: Examine, workers: Any) -> None:
    tasks = [task(kind) for kind in ("start", "nothing", "dynamics")]
    run = examine(agents=AGENTS[:1], tasks=tasks, n_trials=4, workers=workers)
    with run.ledger() as ledger:
        assert ledger.initial_states() == {"nothing": 1}
    by_task = {task["task"]: task for task in run.report()["agents"][0]["tasks"]}
    assert {name: (own["n"], own["n_repeats"]) for name, own in by_task.items()} == {
        "start": (4, 0), "nothing": (1, 3), "dynamics": (4, 0),
    }  # fmt: skip


def test_merged_shards_know_what_repeats(tmp_path: Path) -> None:
    cfg = config_from_dict(examination(tmp_path, agents=AGENTS[:1], tasks=[task("nothing")], n_trials=4))
    merged = merge([run_evaluation(cfg, shard=f"{part}/2").path for part in (1, 2)])
    (own,) = merged.report()["agents"][0]["tasks"]
    assert (own["n"], own["n_repeats"]) == (1, 3)


def test_short_equal_episodes_of_a_world_of_chance_count_each(examine: Examine) -> None:
    """Five tosses have 32 courses: many of 60 trials are equal to the byte, and all of them are evidence."""
    run = examine(agents=AGENTS, tasks=[task("dynamics")], n_trials=60)
    traces = [result.trace for result in run.results() if result.trial.agent == "zero"]
    assert len(set(traces)) < 60
    found = compare([run.path]).comparison
    assert [(agent.n, agent.n_repeats) for agent in found.agents] == [(60, 0), (60, 0)]


def test_an_environment_that_breaks_on_unusual_seeds_is_left_to_its_trials(examine: Examine) -> None:
    run = examine(agents=AGENTS[:1], tasks=[task("nothing", breaks=True)], n_trials=2)
    assert all(result.outcome.scored for result in run.results())
    with run.ledger() as ledger:
        assert ledger.initial_states() == {}


def test_a_test_that_may_stop_early_reads_each_initial_state_once(examine: Examine) -> None:
    """Three repeats of one episode would be read as four pairs that one agent won."""
    keys = {"agents": AGENTS, "tasks": [task("nothing")], "n_trials": 4}
    run = examine(**keys, stop_when={"compare": ["zero", "random"]})
    (test,) = run.report()["stopping"]["tests"]
    assert (test["n"], test["skipped"]) == (1, 3)
