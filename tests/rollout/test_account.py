"""Where the time went: what is measured adds up, and each place gets what belongs to it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from examining import examination, policy, task
from hypothesis import given
from hypothesis import strategies as st

from proctor import config_from_dict, run_evaluation
from proctor.rollout.ask.lanes import LaneStats
from proctor.rollout.slots import PLACES, TimeAccount
from proctor.runs.resume import resume
from proctor_host.messages import Spent

SECONDS = st.floats(0, 100)


@given(st.lists(st.tuples(SECONDS, SECONDS, SECONDS), min_size=1, max_size=4), SECONDS, SECONDS)
def test_places_add_up_to_the_time_of_the_trials(worker: list[tuple[float, ...]], lane: float, way: float) -> None:
    account = TimeAccount()
    for spent in worker:
        account.add(sum(spent), Spent(*spent))
    account.add(1.5 * lane + way, Spent())
    if sum(map(sum, worker)) + lane + way == 0:
        return
    seconds = account.seconds([LaneStats(2, 8, 0.1, lane, 0.5 * lane)])
    total = sum(map(sum, worker)) + 1.5 * lane + way
    assert list(seconds) == list(PLACES)
    assert sum(seconds.values()) == pytest.approx(total)
    assert seconds["transfer"] == pytest.approx(way, abs=1e-9 * (1 + total))


def test_a_trial_by_hand() -> None:
    account = TimeAccount()
    account.add(10.0, Spent(environment_s=4.0, recording_s=1.0, turns_s=0.5))
    lanes = [LaneStats(1, 2, 1.0, 2.0, 0.25), LaneStats(1, 1, 1.0, 1.0, 0.25)]
    expected = {"environment": 4.0, "inference": 3.0, "transfer": 1.0, "waiting": 1.0, "recording": 1.0}
    assert account.seconds(lanes) == expected


def test_more_than_there_is_leaves_nothing_for_the_way() -> None:
    account = TimeAccount()
    account.add(1.0, Spent(environment_s=1.5))
    assert account.seconds([])["transfer"] == 0.0


def test_nothing_done_is_nothing_known() -> None:
    assert TimeAccount().seconds([LaneStats(1, 1, 1.0, 1.0, 1.0)]) == {}


def spent(folder: Path, agents: list[dict[str, Any]], **keys: Any) -> Any:
    run = run_evaluation(config_from_dict(examination(folder, agents=agents, **keys)))
    return run, run.report()["time"]["slot_seconds"]


@pytest.mark.parametrize("workers", ["inline", "process"])
def test_naps_in_an_environment_are_time_of_the_environment(tmp_path: Path, workers: str) -> None:
    run, seconds = spent(tmp_path, [policy("Linear")], tasks=[task(kwargs={"nap_s": 0.002})], workers=workers)
    steps = sum(result.steps_total for result in run.results())
    assert seconds["environment"] >= 0.002 * steps


def test_slots_of_a_busy_worker_wait_for_each_other(tmp_path: Path) -> None:
    """Eight slots, one worker, steps of 2 ms: whoever is not stepped waits."""
    keys = {"tasks": [task(kwargs={"nap_s": 0.002})], "num_parallel": 8, "n_trials": 8, "max_episode_steps": 5}
    _, seconds = spent(tmp_path, [policy("Linear")], **keys)
    assert seconds["waiting"] > seconds["environment"]


def test_a_slow_policy_is_time_of_inference_for_every_row(tmp_path: Path) -> None:
    file = tmp_path / "slow.py"
    file.write_text(
        "import time, numpy as np\nfrom proctor import Policy\n"
        "class Slow(Policy):\n    def act(self, batch):\n        time.sleep(0.004)\n"
        "        return np.zeros((len(batch), 2))\n"
    )
    run, seconds = spent(tmp_path, [{"name": "slow", "policy": f"{file}:Slow"}], max_episode_steps=5)
    assert seconds["inference"] >= 0.004 * sum(result.steps_total for result in run.results())


def test_sessions_add_up(tmp_path: Path) -> None:
    run, before = spent(tmp_path, [policy("Linear")])
    after = resume(run.path, ["n_trials=9"]).run.report()
    assert all(after["time"]["slot_seconds"][place] >= seconds for place, seconds in before.items())
    assert sum(after["time"]["shares"].values()) == pytest.approx(1.0)
    batch = after["batch"]["linear"]["act"]
    assert batch["rows_per_forward"] == batch["rows"] / batch["forwards"]


def test_queued_time_is_counted_from_the_request(tmp_path: Path) -> None:
    """A stage that waits for company makes its first request wait."""
    options = {"max_wait_s": 0.05, "max_batch": 64}
    began = time.monotonic()
    _, seconds = spent(tmp_path, [policy("Linear", **options)], tasks=[task(kwargs={"nap_s": 0.001})], num_parallel=2)
    assert 0.0 < seconds["waiting"] < 2 * (time.monotonic() - began)
