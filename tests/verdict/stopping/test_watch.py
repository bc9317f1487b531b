"""What a test says is a function of the results, not of the order in which they come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.config.models import AgentCfg, EvalConfig, StopCfg, TaskCfg
from proctor.stats import SpendingTest, Verdict, rate_sequence
from proctor.verdict.stopping import ReadingOrder, Seen, Stopping
from proctor.verdict.stopping.kinds import first_narrow


def config(counts: list[int], **rule: Any) -> EvalConfig:
    return EvalConfig(
        agents=tuple(AgentCfg(name=name, policy="zero") for name in "abc"),
        tasks=tuple(TaskCfg(suite="gymnasium", name=f"t{i}", n_trials=n) for i, n in enumerate(counts)),
        stop_when=StopCfg(**rule),
    )


def outcomes(cfg: EvalConfig, seed: int, unscored: float = 0.1) -> list[Seen]:
    """One of each trial: a is better than b, c is in between."""
    rng, skill = np.random.default_rng(seed), {"a": 0.9, "b": 0.3, "c": 0.6}
    return [
        (agent.name, task.name, i, None if rng.random() < unscored else bool(rng.random() < skill[agent.name]))
        for agent in cfg.agents
        for task in cfg.tasks
        for i in range(cfg.trials_of(task))
    ]


counts = st.lists(st.integers(1, 30), min_size=1, max_size=3)
rules = st.sampled_from(
    [
        {"compare": ("a", "b"), "alpha": 0.1},
        {"interval_width": 0.6},
        {"compare": ("b", "a")},
        {"compare": ("a", "b", "c"), "alpha": 0.2},
        {"compare": ("a", "b", "c"), "on": "score", "alpha": 0.2},
        {"compare": ("a", "c"), "futility": 0.3},
    ]
)


@given(counts)
def test_places_count_the_order_of_reading(n: list[int]) -> None:
    reading = ReadingOrder(config(n, interval_width=0.5))
    order = list(reading)
    assert [reading.place(task, index) for task, index in order] == list(range(reading.places))
    assert [index for _, index in order] == sorted(index for _, index in order)
    assert reading.places == sum(n) == len(set(order))


@settings(max_examples=60, deadline=None)
@given(counts, rules, st.integers(0, 99), st.randoms(use_true_random=False), st.integers(1, 40))
def test_the_order_of_ends_changes_nothing(n: list[int], rule: Any, seed: int, random: Any, some: int) -> None:
    cfg = config(n, **rule)
    results = outcomes(cfg, seed)
    at_once = Stopping(cfg)
    settled = at_once.add(results)
    random.shuffle(results)
    in_parts, told = Stopping(cfg), set[str]()
    for start in range(0, len(results), some):
        told |= in_parts.add(results[start : start + some])
    assert in_parts.stops() == at_once.stops()
    assert told == settled == at_once.settled == in_parts.settled
    keys = [seen[:3] for seen in results]
    assert [in_parts.after_stop(*key) for key in keys] == [at_once.after_stop(*key) for key in keys]


@settings(max_examples=40, deadline=None)
@given(counts, st.integers(0, 99))
def test_a_comparison_is_the_spending_test_on_scored_pairs_in_order(n: list[int], seed: int) -> None:
    cfg = config(n, compare=("a", "b"))
    results = {seen[:3]: seen[3] for seen in outcomes(cfg, seed)}
    test, skipped, read = SpendingTest(sum(n)), 0, 0
    for task, index in ReadingOrder(cfg):
        if test.decision.stop:
            break
        pair, read = (results["a", task, index], results["b", task, index]), read + 1
        if None in pair:
            skipped += 1
        else:
            test.update(bool(pair[0]), bool(pair[1]))
    stopping = Stopping(cfg)
    stopping.add((*key, success) for key, success in results.items())
    (stop,) = stopping.stops()
    assert (stop.verdict, stop.n, stop.skipped, stop.place) == (*_said(test), skipped, read)
    assert stop.interval == test.interval()
    after = sum(stopping.after_stop(*key) for key in results)
    assert after == (2 * (sum(n) - read) if stop.settled else 0)


def _said(test: SpendingTest) -> tuple[Verdict, int]:
    return test.decision.verdict, test.decision.n


@pytest.mark.parametrize("width", [0.15, 0.4])
@pytest.mark.parametrize("rate", [0.0, 0.02, 0.5, 0.97, 1.0])
def test_the_first_narrow_look_is_that_of_the_sequence(rate: float, width: float) -> None:
    won = np.random.default_rng(3).random(900) < rate
    successes, looks = np.cumsum(won), np.arange(1, len(won) + 1)
    low, high = rate_sequence(successes, looks, 0.05)
    narrow = np.flatnonzero(high - low <= width)
    assert first_narrow(successes, looks, 0.05, width) == (narrow[0] if narrow.size else None)


def test_a_gap_holds_the_test_up_and_nothing_is_settled() -> None:
    cfg = config([40], compare=("a", "b"))
    certain = [("a", "t0", i, True) for i in range(40)] + [("b", "t0", i, False) for i in range(40)]
    stopping = Stopping(cfg)
    assert stopping.add(seen for seen in certain if seen[:3] != ("b", "t0", 2)) == set()
    assert [stop.n for stop in stopping.stops()] == [2]
    assert stopping.add([("b", "t0", 2, False)]) == {"a", "b"}
    (stop,) = stopping.stops()
    assert stop.better == "a"
    assert stop.n < 40
    assert stop.interval is not None
    assert stop.interval.low >= 0


def test_agents_that_are_not_compared_never_stop() -> None:
    cfg = config([10], compare=("a", "b"))
    stopping = Stopping(cfg)
    stopping.add(("c", "t0", i, True) for i in range(10))
    assert stopping.settled == frozenset()
    assert not stopping.after_stop("c", "t0", 9)


def test_a_maximum_ends_a_measurement() -> None:
    stopping = Stopping(config([50], interval_width=0.01, max_trials=7))
    stopping.add(("a", "t0", i, None if i == 3 else True) for i in range(50))
    stop = stopping.stops()[0]
    assert (stop.verdict, stop.n, stop.skipped, stop.place) == (Verdict.MAXIMUM, 7, 1, 8)
    assert stopping.settled == {"a"}
