"""When a forward starts: a full batch, nobody left who could join, or patience at its end."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from asking import task_of
from gymnasium.spaces import Box

from proctor import Batch, Policy, Stage
from proctor.rollout.ask.lanes import MAX_WAIT_S, Lane, LaneStats, Moment
from proctor.rollout.ask.requests import Request
from proctor.rollout.ask.runner import Answers, PolicyRunner
from proctor.rollout.tasks import Task
from proctor_host.trials import Trial

TASK, OTHER = (task_of(f"t{size}", Box(-1, 1, (size,), np.float32)) for size in (2, 3))


def request(index: int = 0, since: float = 0.0, task: Task = TASK) -> Request:
    trial = Trial("a", task.name, index, index)
    made = Request(SimpleNamespace(ticket=0), trial, task, "act")
    made.show([task.observation_space.sample()])
    return made.ask(0, since)


class Zeros(Policy):
    """Notes on which thread it ran."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    def act(self, batch: Batch) -> np.ndarray:
        self.threads.append(threading.get_ident())
        return np.zeros((len(batch), 1))


class Bench:
    """A lane with its deliveries."""

    def __init__(self, stage: Stage, max_batch: int):
        self.policy = Zeros()
        self.delivered: queue.Queue[Answers] = queue.Queue()
        self.lane = Lane(PolicyRunner(self.policy, 4), stage, max_batch, lambda _, a: self.delivered.put(a))

    def put(self, *requests: Request) -> None:
        for one in requests:
            self.lane.put(one)

    def look(self, now: float, live: int | dict[str, int], *, spare_s: float = 0.0, here: bool = False) -> float | None:
        counts = live if isinstance(live, dict) else {TASK.key: live, OTHER.key: live}
        return self.lane.dispatch(Moment(now, lambda _: spare_s, here), counts)

    def lands(self, seconds: float = 0.004) -> list[int]:
        """Wait for the forward in flight; the trials it answered."""
        answers = self.delivered.get(timeout=30)
        self.lane.landed(seconds)
        return [request.trial.index for request in answers.requests]


@pytest.fixture
def benches() -> Iterator[Any]:
    made: list[Bench] = []

    def make(max_batch: int = 4, max_wait_s: float | None = 1.0, stage_max: int | None = None) -> Bench:
        made.append(Bench(Stage("act", stage_max, max_wait_s), max_batch))
        return made[-1]

    yield make
    for bench in made:
        bench.lane.close()
        bench.lane.join(30)
        assert not bench.lane._thread.is_alive()


def test_a_full_batch_starts_at_once(benches: Any) -> None:
    bench = benches(max_batch=3)
    bench.put(*(request(i) for i in range(2)))
    assert bench.look(0.0, live=9) == 1.0, "not yet; look again when the oldest has waited"
    bench.put(*(request(i) for i in range(2, 7)))
    assert bench.look(0.0, live=9) is None
    assert bench.lands() == [0, 1, 2], "the oldest first"
    bench.look(0.0, live=9)
    assert bench.lands() == [3, 4, 5]
    assert bench.look(0.0, live=9) == 1.0


def test_nobody_who_could_join_is_waited_for(benches: Any) -> None:
    bench = benches()
    bench.put(request(0), request(1))
    assert bench.look(0.0, live=3) == 1.0
    assert bench.look(0.0, live=2) is None
    assert bench.lands() == [0, 1]


def test_patience_ends_with_the_oldest(benches: Any) -> None:
    bench = benches(max_wait_s=0.5)
    bench.put(request(0, since=10.0), request(1, since=10.4))
    assert bench.look(10.49, live=9) == 10.5
    assert bench.look(10.5, live=9) is None
    assert bench.lands() == [0, 1]


def test_without_patience_every_request_goes_at_once(benches: Any) -> None:
    bench = benches(max_wait_s=0.0)
    bench.put(request(0, since=3.0))
    bench.look(3.0, live=9)
    assert bench.lands() == [0]


def test_unconfigured_patience_is_about_one_forward(benches: Any) -> None:
    bench = benches(max_wait_s=None)
    bench.put(request(0))
    assert bench.look(0.0, live=9) == MAX_WAIT_S, "nothing is known of it yet"
    assert bench.look(MAX_WAIT_S, live=9) is None
    bench.lands(seconds=0.02)
    bench.put(request(1, since=1.0))
    assert bench.look(1.0, live=9) == pytest.approx(1.02)
    assert bench.look(1.0, live=9, spare_s=1.0) == 1.0 + MAX_WAIT_S, "workers have steps to do meanwhile"


def test_quick_forwards_run_one_after_the_other_and_are_answered_together(benches: Any) -> None:
    bench = benches(max_batch=8, max_wait_s=None, stage_max=1)
    answered(bench, [request(0)], 0.0, seconds=0.00009)
    bench.put(*(request(i, since=1.0) for i in range(1, 6)))
    asked = len(bench.policy.threads)
    bench.look(1.0, live=8)
    assert bench.lands(0.0003) == [1, 2, 3], "as many as take 0.3 ms"
    assert len(bench.policy.threads) == asked + 3, "each row by itself"
    assert (bench.lane.stats.forwards, bench.lane.stats.rows) == (4, 4)
    bench.look(1.0, live=8)
    assert bench.lands(0.0002) == [4, 5]


def test_slow_forwards_are_answered_one_by_one(benches: Any) -> None:
    bench = benches(max_batch=8, max_wait_s=None, stage_max=1)
    answered(bench, [request(0)], 0.0, seconds=0.01)
    bench.put(*(request(i, since=1.0) for i in range(1, 3)))
    bench.look(1.0, live=8)
    assert bench.lands(0.01) == [1]


def answered(bench: Any, asked: list[Request], now: float, seconds: float) -> float:
    """A forward of all of these; when it landed."""
    bench.put(*asked)
    bench.look(now, live=len(asked))
    bench.lands(seconds)
    return now + seconds


@pytest.mark.parametrize(("turn_s", "waits"), [(0.002, True), (0.050, False)])
def test_slots_that_are_back_soon_are_waited_for(benches: Any, turn_s: float, waits: bool) -> None:
    """Two halves of the slots do not take turns where their steps are short next to a forward: who has waited long
    enough still waits for those who were just answered. Where steps are long, nobody does."""
    bench = benches(max_wait_s=None, max_batch=9)
    first, now = [request(0), request(1)], 0.0
    for _ in range(30):
        now = answered(bench, [one.ask(0, now) for one in first], now, 0.1) + turn_s
    bench.put(*(one.ask(0, now) for one in first))
    bench.look(now, live=2)
    bench.put(request(2, since=now), request(3, since=now))
    bench.lands(0.1)
    due = bench.look(now + 0.1, live=4)
    assert (due is not None) == waits
    if waits:
        assert due - (now + 0.1) == pytest.approx(2 * turn_s + 0.001, rel=0.1)
    else:
        assert bench.lands() == [2, 3]


def test_who_waits_for_another_stage_could_not_join(benches: Any) -> None:
    plan, act = benches(), benches()
    plan.put(request(0), request(1))
    act.put(request(2))
    moment, live = Moment(0.0, lambda _: 0.0, here=False), {TASK.key: 4}
    assert act.lane.dispatch(moment, live, [plan.lane]) == 1.0, "one slot still steps"
    plan.put(request(3))
    plan.look(0.0, live=3)
    assert act.lane.dispatch(moment, live, [plan.lane]) is None, "three are in flight elsewhere"
    assert (plan.lands(), act.lands()) == ([0, 1, 3], [2])


def test_a_stage_may_have_a_smaller_batch_than_its_agent(benches: Any) -> None:
    bench = benches(max_batch=4, stage_max=2)
    bench.put(*(request(i) for i in range(3)))
    bench.look(0.0, live=9)
    assert bench.lands() == [0, 1]


def test_while_a_forward_runs_requests_gather(benches: Any) -> None:
    bench = benches(max_batch=2)
    bench.put(request(0), request(1), request(2), request(3))
    bench.look(0.0, live=4)
    assert bench.look(99.0, live=4) is None
    assert [r.trial.index for r in bench.lane.in_flight] == [0, 1]
    bench.lands()
    bench.look(99.0, live=4)
    assert bench.lands() == [2, 3]


def test_other_shapes_wait_in_a_row_of_their_own(benches: Any) -> None:
    bench = benches()
    bench.put(request(0), request(1, task=OTHER), request(2))
    bench.look(0.0, live={TASK.key: 2, OTHER.key: 5})
    assert bench.lands() == [0, 2]
    assert bench.look(0.0, live={TASK.key: 2, OTHER.key: 5}) == 1.0
    bench.look(0.0, live={TASK.key: 2, OTHER.key: 1})
    assert bench.lands() == [1]


def test_what_a_slot_asked_for_is_forgotten_with_it(benches: Any) -> None:
    bench = benches()
    gone, stays, alone = request(0), request(1), request(2)
    bench.put(gone, stays)
    bench.lane.put_alone(alone)
    bench.lane.drop(gone.owner)
    bench.lane.drop(alone.owner)
    bench.look(0.0, live=1)
    assert bench.lands() == [1]


def test_suspects_are_asked_one_by_one_before_the_others(benches: Any) -> None:
    bench = benches()
    bench.put(request(5), request(6))
    for i in (1, 2):
        bench.lane.put_alone(request(i))
    seen = []
    for _ in range(3):
        bench.look(0.0, live=2)
        seen.append(bench.lands())
    assert seen == [[1], [2], [5, 6]]


def test_short_forwards_run_where_there_is_nothing_else_to_do(benches: Any) -> None:
    bench = benches()
    for here, seconds in ((True, 0.0005), (True, 0.0005), (False, 0.5), (True, 0.5)):
        bench.put(request())
        bench.look(0.0, live=1, here=here)
        bench.lands(seconds)
    mine = [t == threading.get_ident() for t in bench.policy.threads]
    assert mine == [False, True, False, False], "the first is of unknown length, the last is known to be long"


def test_forwards_rows_and_seconds_are_counted(benches: Any) -> None:
    bench = benches()
    for count in (1, 3):
        bench.put(*(request(i) for i in range(count)))
        bench.look(0.0, live=count)
        bench.lands(seconds=0.25)
    assert bench.lane.stats == LaneStats(forwards=2, rows=4, seconds=0.5, slot_s=1.0, queued_s=0.0)


def test_time_in_the_queue_is_counted_for_every_row(benches: Any) -> None:
    bench = benches()
    bench.put(request(0, since=1.0), request(1, since=2.5))
    bench.look(3.0, live=2)
    bench.lands(seconds=0.25)
    assert bench.lane.stats.queued_s == 2.0 + 0.5


def test_even_an_exit_inside_the_policy_is_answered(benches: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = benches()

    def leave(_: Any) -> None:
        raise SystemExit(3)

    monkeypatch.setattr(bench.policy, "act", leave)
    bench.put(request(0), request(1))
    bench.look(0.0, live=2)
    answers = bench.delivered.get(timeout=30)
    bench.lane.landed(0.1)
    assert [str(error).splitlines()[0] for _, error in answers.each] == ["SystemExit: 3"] * 2
