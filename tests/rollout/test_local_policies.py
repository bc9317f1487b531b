"""Policies that live in the workers: where they run, what is told of them, and what they may break there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from examining import digests, examination, policy, task

from proctor import Outcome, Run, RunError, config_from_dict
from proctor.rollout.progress import Progress
from proctor.runs.session import Hooks
from proctor.runs.start import start

PLACES = """
import os
from pathlib import Path

import numpy as np

from proctor import Batch, Policy


class Placed(Policy):
    placement = "worker"

    def __init__(self, folder: str, only_in: int | None = None):
        self.folder = Path(folder)
        if only_in not in (None, os.getpid()):
            raise OSError("the licence is for another process")

    def act(self, batch: Batch) -> np.ndarray:
        (self.folder / f"asked-{os.getpid()}").touch()
        return np.tanh(batch.normal((2,)))

    def close(self) -> None:
        (self.folder / f"closed-{os.getpid()}").touch()
"""


@pytest.fixture
def placed(tmp_path: Path) -> Callable[..., dict]:
    file, folder = tmp_path / "placed.py", tmp_path / "traces"
    file.write_text(PLACES)
    folder.mkdir()

    def agent(placement: str = "auto", **kwargs: int) -> dict:
        options = {"placement": placement, "kwargs": {"folder": str(folder), **kwargs}}
        return {"name": "placed", "policy": f"{file}:Placed", "options": options}

    return agent


def traces(tmp_path: Path, what: str) -> set[int]:
    return {int(path.name.split("-")[1]) for path in (tmp_path / "traces").glob(f"{what}-*")}


@pytest.mark.parametrize(("placement", "here"), [("auto", False), ("worker", False), ("engine", True)])
def test_a_policy_is_asked_where_it_is_placed_and_closed_there(
    examine: Callable[..., Run], placed: Callable[..., dict], tmp_path: Path, placement: str, here: bool
) -> None:
    examine(agents=[placed(placement)], workers=2, num_parallel=4, n_trials=12)
    asked, closed = traces(tmp_path, "asked"), traces(tmp_path, "closed")
    assert (os.getpid() in asked) == here
    assert len(asked) == (1 if here else 2)
    assert closed == asked | {os.getpid()}


def test_inline_there_is_one_policy(examine: Callable[..., Run], placed: Callable[..., dict], tmp_path: Path) -> None:
    examine(agents=[placed(only_in=os.getpid())], workers="inline")
    assert traces(tmp_path, "asked") == traces(tmp_path, "closed") == {os.getpid()}


def test_a_policy_that_cannot_live_in_a_worker_says_so(tmp_path: Path, placed: Callable[..., dict]) -> None:
    cfg = config_from_dict(examination(tmp_path / "run", agents=[placed(only_in=os.getpid())], workers=2))
    with pytest.raises(RunError) as refused:
        start(cfg)
    assert str(refused.value).splitlines() == [
        'agent "placed" can be loaded by the engine, but not in a worker: OSError: the licence is for another process',
        "With options: {placement: engine} it is asked by the engine.",
    ]


def test_a_policy_that_kills_its_worker_costs_its_trial_and_no_other(examine: Callable[..., Run]) -> None:
    def agent(trouble: str) -> dict:
        return policy("Troubled", placement="worker", kwargs={"trouble": trouble, "seeds": [125]})

    keys = {"n_trials": 6, "num_parallel": 6, "workers": 1, "limits": {"retries": 1}}
    healthy = digests(examine(agents=[agent("none")], **keys))
    run = examine(agents=[agent("die")], **keys)
    results = {result.trial.seed: result for result in run.results()}
    bad = results.pop(125)
    assert (bad.outcome, bad.success, bad.attempts) == (Outcome.POLICY_ERROR, False, 2)
    assert bad.error == "a worker process died of SIGSEGV in its policy"
    assert all(healthy[r.trial.key] == r.digest for r in results.values())
    assert all(r.attempts == 1 for r in results.values()), "its neighbours in the batch are run again for free"


def test_a_policy_that_dies_before_it_fails_is_not_ranked_by_what_it_left(examine: Callable[..., Run]) -> None:
    agents = [
        policy("Troubled", placement="worker", kwargs={"trouble": "die", "seeds": list(range(123, 129))}),
        {**policy("Upward"), "name": "honest"},
    ]
    run = examine(agents=agents, n_trials=6, num_parallel=6, workers=1, limits={"retries": 0})
    rows = {agent["agent"]: agent for agent in run.report()["agents"]}
    assert rows["troubled"]["n"] == rows["honest"]["n"] == 6
    assert rows["troubled"]["success_rate"] == 0.0 < rows["honest"]["success_rate"]
    assert {r.outcome for r in run.results() if r.trial.agent == "troubled"} == {Outcome.POLICY_ERROR}


def test_a_worker_that_was_killed_once_in_a_forward_costs_nobody_anything(
    examine: Callable[..., Run], tmp_path: Path
) -> None:
    """Somebody else's kill, such as that of a system without memory, is not the policy's: it does not come again."""
    file, mark = tmp_path / "once.py", tmp_path / "mark"
    file.write_text(ONCE)

    def agent(fatal: bool) -> dict:
        kwargs = {"mark": str(mark), "fatal": fatal}
        return {"name": "once", "policy": f"{file}:Once", "options": {"placement": "worker", "kwargs": kwargs}}

    for slots in (1, 5):
        keys = {"num_parallel": slots, "workers": 1, "limits": {"retries": 0}}
        healthy = digests(examine(agents=[agent(False)], **keys))
        run = examine(agents=[agent(True)], **keys)
        assert mark.exists()
        assert digests(run) == healthy
        mark.unlink()


ONCE = """
import os
import signal
from pathlib import Path

import numpy as np

from proctor import Batch, Policy


class Once(Policy):
    def __init__(self, mark: str, fatal: bool):
        self.mark, self.calls = Path(mark), 0
        self.fatal = fatal

    def act(self, batch: Batch) -> np.ndarray:
        self.calls += 1
        if self.fatal and self.calls == 12 and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return np.tanh(batch.normal((2,)))
"""


@pytest.mark.parametrize("workers", ["inline", 2])
def test_progress_and_batching_count_what_is_asked_in_workers(tmp_path: Path, workers: int | str) -> None:
    seen: list[Progress] = []
    agents = [policy("Linear", placement="worker")]
    keys = {"agents": agents, "workers": workers, "tasks": [task(kwargs={"nap_s": 0.01})], "num_parallel": 4}
    run = start(config_from_dict(examination(tmp_path, **keys)), Hooks(seen.append)).run
    steps = sum(result.steps_total for result in run.results())
    last = seen[-1]
    assert (last.steps, last.rows) == (steps, steps)
    assert steps / 4 <= last.forwards <= steps


@pytest.mark.parametrize("workers", ["inline", 2])
def test_what_a_policy_breaks_in_a_worker_is_logged(examine: Callable[..., Run], workers: int | str) -> None:
    agent = policy("Troubled", placement="worker", kwargs={"trouble": "raise", "seeds": [124]})
    run = examine(agents=[agent], n_trials=3, workers=workers)
    said = [line for line in (run.path / "run.log").read_text().splitlines() if "policy error" in line]
    assert len(said) == 1
    assert said[0].endswith("ValueError: this observation is too much")
