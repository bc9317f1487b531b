"""What a progress display shows of each node is what happened there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from proctor.rollout import whereabouts
from proctor.rollout.progress import Progress, node_numbers
from proctor.rollout.whereabouts import Whereabouts
from proctor_host.episode import Outcome
from proctor_host.messages import Done, Spent
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

FIRST, SECOND = ({"node": name, "host": name, "address": name, "devices": ["CPU"]} for name in ("first", "second"))


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """In the place of the time, for nodes and for what is shown of them."""
    found = Clock()
    monkeypatch.setattr(whereabouts, "time", found)
    monkeypatch.setattr("proctor.rollout.progress.time", found)
    return found


def done(index: int, environment_s: float = 0.0, recording_s: float = 0.0) -> Done:
    result = TrialResult(Trial("a", "t", index, index), Outcome.SUCCESS, True, 9, 9, 1.0, 10)
    return Done(0, result, Spent(environment_s, recording_s))


def worker(node: dict[str, Any], ready: bool = True) -> Any:
    return SimpleNamespace(ready=ready, worker=SimpleNamespace(node=node))


def shown(where: Whereabouts) -> dict[str, dict[str, Any]]:
    return node_numbers(Progress(nodes=where.progress))


def test_rate_busy_share_and_lost_attempts_are_counted_by_node(clock: Clock) -> None:
    where = Whereabouts([])
    members = [worker(FIRST), worker(FIRST), worker(SECOND), worker({}, ready=False)]
    where.look(members)
    clock.now += 10.0
    for index in range(5):
        where.done(FIRST, done(index, 1.0, 0.5), {})
    where.done(SECOND, done(5, 4.0), FIRST)
    where.lost(SECOND, 3)
    where.look(members)
    assert shown(where) == {
        "first": {"workers": 2, "trials": 5, "trials_per_s": 0.5, "busy": 0.375, "lost": 0},
        "second": {"workers": 1, "trials": 1, "trials_per_s": 0.1, "busy": 0.4, "lost": 3},
    }


def test_a_node_that_has_gone_keeps_its_counts_and_has_no_rate(clock: Clock) -> None:
    where = Whereabouts([])
    where.look([worker(FIRST)])
    clock.now += 2.0
    where.done(FIRST, done(0, 1.0), {})
    where.look([])
    clock.now += 100.0
    where.look([])
    assert shown(where)["first"] == {"workers": 0, "trials": 1, "trials_per_s": 0.0, "busy": 0.5, "lost": 0}


def test_a_trial_is_placed_where_it_ran_and_where_its_policy_was_asked() -> None:
    where = Whereabouts([{"node": "earlier", "devices": ["CPU"]}])
    where.done(FIRST, done(0), SECOND)
    where.done(SECOND, done(1), {})
    where.done({}, done(2), {})
    assert [(placed.worker, placed.policy) for placed in where.take()] == [(1, 2), (2, None)]
    assert [node["node"] for node in where.nodes] == ["earlier", "first", "second"]
    assert where.take() == []
