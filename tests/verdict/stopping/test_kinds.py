"""Comparisons of scores, of more than two agents, and those that have become futile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from proctor.config.models import AgentCfg, EvalConfig, StopCfg, TaskCfg
from proctor.stats import SpendingTest, Verdict, always_valid, centre_sequence, conditional_power
from proctor.stats.betting import SignBets, log_wealth
from proctor.verdict.stopping import Stopping


def config(n: int, **rule: Any) -> EvalConfig:
    return EvalConfig(
        agents=tuple(AgentCfg(name=name, policy="zero") for name in "abcd"),
        tasks=(TaskCfg(suite="gymnasium", name="t", n_trials=n),),
        stop_when=StopCfg(**rule),
    )


def followed(cfg: EvalConfig, values: dict[str, np.ndarray]) -> Stopping:
    stopping = Stopping(cfg)
    stopping.add(
        (agent, "t", i, None if np.isnan(v) else float(v)) for agent, row in values.items() for i, v in enumerate(row)
    )
    return stopping


def test_scores_are_bet_on_in_order_and_stop_where_the_p_value_is_alpha() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(1.0, 1, 200), rng.normal(0.4, 1, 200)
    a[7] = np.nan
    (stop,) = followed(config(200, compare=("a", "b"), on="score"), {"a": a, "b": b}).stops()
    differences = (a - b)[~np.isnan(a)]
    first = next(n for n in range(1, 200) if always_valid(differences[:n]).p_value <= 0.05)
    assert (stop.verdict, stop.n, stop.skipped, stop.better) == (Verdict.DIFFERENT, first, 1, "a")
    assert stop.measure == "score"
    assert stop.estimate == pytest.approx(differences[:first].mean())
    assert stop.interval == centre_sequence(differences[:first])


def test_the_bets_one_by_one_are_those_of_all_at_once() -> None:
    differences = np.random.default_rng(2).normal(0.1, 1, 60).round(1)
    bets = SignBets()
    assert [bets.update(value) for value in differences.tolist()] == pytest.approx(log_wealth(differences).tolist())


def test_where_signs_and_mean_disagree_nobody_scores_higher() -> None:
    """a is ahead by a little nearly always, and far behind at times."""
    a = np.tile([*np.full(9, 0.1), -5.0], 20)
    (stop,) = followed(config(200, compare=("a", "b"), on="score"), {"a": a, "b": np.zeros(200)}).stops()
    assert stop.better in (None, "b") or (stop.estimate or 0) > 0
    early = np.concatenate([[-50.0], np.full(199, 0.2)])
    (stop,) = followed(config(200, compare=("a", "b"), on="score"), {"a": early, "b": np.zeros(200)}).stops()
    assert stop.better is None


def test_equal_scores_go_on_to_the_maximum_and_few_have_no_interval() -> None:
    cfg = config(30, compare=("a", "b"), on="score")
    (stop,) = followed(cfg, {"a": np.zeros(30), "b": np.zeros(30)}).stops()
    assert (stop.verdict, stop.better) == (Verdict.MAXIMUM, None)
    (stop,) = followed(cfg, {"a": np.zeros(3), "b": np.ones(3)}).stops()
    assert (stop.verdict, stop.interval) == (Verdict.GO_ON, None)


def test_every_pair_of_three_agents_is_tested_at_a_third_of_alpha() -> None:
    rng = np.random.default_rng(3)
    values = {name: (rng.random(300) < rate).astype(float) for name, rate in (("a", 0.9), ("b", 0.3), ("c", 0.85))}
    stopping = followed(config(300, compare=("a", "b", "c")), values)
    for stop in stopping.stops():
        one, other = (values[name] for name in stop.agents)
        test = SpendingTest(300, 0.05 / 3)
        for i, j in zip(one, other, strict=True):
            test.update(bool(i), bool(j))
        assert (stop.verdict, stop.n) == (test.decision.verdict, test.decision.n)
        assert stop.interval == test.interval()
        assert (stop.alpha, stop.family) == (0.05, 3)


def test_an_agent_goes_on_until_all_its_pairs_are_settled() -> None:
    certain = {"a": np.ones(80), "b": np.zeros(80), "c": np.zeros(80)}
    certain["c"][::2] = 1
    cfg = config(80, compare=("a", "b", "c"), max_trials=80)
    stopping = Stopping(cfg)
    told = [stopping.add((name, "t", i, float(row[i])) for name, row in certain.items()) for i in range(80)]
    places = {stop.agents: stop.place for stop in stopping.stops()}
    assert places["a", "b"] < min(places["a", "c"], places["b", "c"])
    settled = {name: next(i for i, found in enumerate(told) if name in found) + 1 for name in "abc"}
    last = max(places["a", "c"], places["b", "c"])
    assert settled == {"a": places["a", "c"], "b": places["b", "c"], "c": last}
    assert not stopping.after_stop("a", "t", places["a", "b"])
    assert stopping.after_stop("a", "t", places["a", "c"])
    assert stopping.settled == {"a", "b", "c"}


def test_false_differences_among_three_equal_agents_are_rarer_than_alpha() -> None:
    rng, alarms = np.random.default_rng(4), 0
    for _ in range(200):
        values = {name: (rng.random(60) < 0.6).astype(float) for name in "abc"}
        alarms += any(stop.better for stop in followed(config(60, compare=("a", "b", "c")), values).stops())
    assert alarms <= 200 * 0.05 + 3


def test_a_comparison_without_hope_ends_at_the_first_look_below_the_limit() -> None:
    values = {"a": np.tile([1.0, 0.0], 50), "b": np.tile([0.0, 1.0], 50)}
    (stop,) = followed(config(100, compare=("a", "b"), futility=0.1), values).stops()
    steps = (values["a"] - values["b"])[:50]
    assert (stop.verdict, stop.n, stop.better, stop.settled) == (Verdict.FUTILE, 50, None, True)
    assert stop.chance == conditional_power(steps, 100)
    assert (stop.chance, stop.futility) < (0.1, 0.11)
    (without,) = followed(config(100, compare=("a", "b")), values).stops()
    assert (without.verdict, without.n, without.chance) == (Verdict.MAXIMUM, 100, None)


def test_alpha_may_be_spent_evenly() -> None:
    rng = np.random.default_rng(9)
    values = {name: (rng.random(200) < rate).astype(float) for name, rate in (("a", 0.9), ("b", 0.4))}
    late, even = (followed(config(200, compare=("a", "b"), spend=how), values).stops()[0] for how in ("late", "even"))
    test = SpendingTest(200, 0.05, "even")
    for i, j in zip(values["a"], values["b"], strict=True):
        test.update(bool(i), bool(j))
    assert (even.n, even.better, even.interval) == (test.decision.n, "a", test.interval())
    assert even.n < late.n
    assert even.method == "exact alpha spending on pairs of one seed, even"


def test_futility_never_stops_what_would_have_been_settled_before_its_look() -> None:
    values = {"a": np.ones(100), "b": np.zeros(100)}
    rules: list[dict[str, Any]] = [{}, {"futility": 0.9}]
    with_and_without = [followed(config(100, compare=("a", "b"), **rule), values).stops()[0] for rule in rules]
    assert [stop.better for stop in with_and_without] == ["a", "a"]
    assert with_and_without[0].n == with_and_without[1].n < 50
