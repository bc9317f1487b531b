"""Runs whose tasks live in several interpreters: what is asked where, and how much runs at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import counted
import pytest
from examining import digests, policy

from proctor import Run

Examine = Callable[..., Run]

PLACED = """
import os
from pathlib import Path

import numpy as np

from proctor import Batch, Policy


class Placed(Policy):
    placement = "worker"

    def __init__(self, folder: str):
        self.folder = Path(folder)

    def act(self, batch: Batch) -> np.ndarray:
        (self.folder / f"asked-{os.getpid()}").touch()
        return (batch.normal((1,))[:, 0] > 0).astype(np.int64)
"""


@pytest.fixture
def elsewhere(tmp_path: Path) -> dict[str, str]:
    """This interpreter by another path, which makes it another runtime."""
    (tmp_path / "elsewhere").symlink_to(sys.prefix)
    return {"python": str(tmp_path / "elsewhere" / "bin" / Path(sys.executable).name)}


HERE = {"python": sys.executable}


def cart(name: str = "cart", runtime: Any = None) -> dict[str, Any]:
    options = {"id": "CartPole-v1"}
    return {"suite": "gymnasium", "name": name, "options": options, "runtime": runtime, "max_episode_steps": 30}


RANDOM = {"name": "random", "policy": "random"}


@pytest.mark.parametrize("workers", ["inline", 2])
def test_a_run_in_three_interpreters_is_the_run_in_one(
    examine: Examine, elsewhere: dict[str, str], workers: Any
) -> None:
    apart = [cart("a"), cart("b", HERE), cart("c", elsewhere)]
    found = examine(agents=[RANDOM], tasks=apart, workers=workers, n_trials=3)
    together = examine(agents=[RANDOM], tasks=[cart("a"), cart("b"), cart("c")], n_trials=3)
    assert digests(found) == digests(together)
    assert len(digests(found)) == 9


def test_num_parallel_bounds_the_trials_of_all_places_together(
    examine: Examine, elsewhere: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    options = {"id": f"{counted.__file__}:Counted-v0", "kwargs": {"folder": str(folder)}}
    places = {"a": HERE, "b": elsewhere, "c": None}
    tasks = [{"suite": "gymnasium", "name": n, "options": options, "runtime": r} for n, r in places.items()]
    run = examine(agents=[policy("Upward")], tasks=tasks, n_trials=6, num_parallel=3, workers=1)
    assert len(list(run.results())) == 18
    seen = [tuple(map(int, line.split())) for line in (folder / "seen").read_text().splitlines()]
    assert len(seen) == 18 * 5
    assert max(running for running, _ in seen) <= 3
    assert len({process for _, process in seen}) == 3, "each place has a worker"


@pytest.mark.parametrize("workers", ["inline", 2])
def test_a_policy_of_the_workers_is_asked_by_the_engine_for_a_task_in_a_runtime(
    examine: Examine, tmp_path: Path, workers: Any
) -> None:
    file, traces = tmp_path / "placed.py", tmp_path / "traces"
    file.write_text(PLACED)
    traces.mkdir()

    def agent() -> dict[str, Any]:
        for old in traces.iterdir():
            old.unlink()
        options = {"placement": "worker", "kwargs": {"folder": str(traces)}}
        return {"name": "placed", "policy": f"{file}:Placed", "options": options}

    expected = digests(examine(agents=[agent()], tasks=[cart("a"), cart("b")], n_trials=4))
    found = examine(agents=[agent()], tasks=[cart("a", HERE), cart("b", HERE)], workers=workers, n_trials=4)
    assert digests(found) == expected
    assert [path.name for path in traces.iterdir()] == [f"asked-{os.getpid()}"], "policies stay out of runtimes"
    mixed = examine(agents=[agent()], tasks=[cart("a", HERE), cart("b")], workers=workers, n_trials=4)
    assert digests(mixed) == expected
    assert f"asked-{os.getpid()}" in {path.name for path in traces.iterdir()}
