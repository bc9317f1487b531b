"""Run tables that were made to mislead a verdict: each case once gave a wrong sentence, a wrong number, or a pass."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from proctor.report.build.judgement import verdict
from proctor.stats import Interval, Units, compare_rates, paired_test, unpaired_test
from proctor.verdict.comparison import AgentTrials, Comparison, JudgeCfg, TaskTrials, judge
from proctor.verdict.comparison.cautions import cautions_of
from proctor.verdict.gate import Ruling, rule_on

FEW = JudgeCfg(n_resamples=300)


def task(success: Any, score: Any = None, **rest: Any) -> TaskTrials:
    won = np.asarray(success, bool)
    index = np.asarray(rest.pop("index", np.arange(len(won))))
    values = won.astype(float) if score is None else np.asarray(score, float)
    arrays = {name: np.asarray(value, np.int64) for name, value in rest.items()}
    return TaskTrials(index, won, values, **arrays)


def agents(**tables: dict[str, TaskTrials]) -> list[AgentTrials]:
    return [AgentTrials(name, tasks) for name, tasks in tables.items()]


def rates(won: int, n: int) -> list[int]:
    return [1] * won + [0] * (n - won)


# 1: rank and test look at the same trials -----------------------------------------------------------------------------


def hard_half_missing(**rest: Any) -> Comparison:
    """A was not scored on the 50 hard seeds, on which B fails; on the easy ones B is better."""
    a = task(rates(40, 50), **rest)
    return judge(agents(A={"t": a}, B={"t": task(rates(50, 100))}), FEW)


def test_the_loser_of_the_tested_trials_is_never_called_better() -> None:
    found = hard_half_missing()
    assert found.agents[0].agent == "A", "by its own trials, 80 % against 50 %"
    assert found.pairs[0].success.value == pytest.approx(-0.2)
    assert found.different(found.pairs[0])
    assert found.winner is None
    words = verdict(found)
    assert words.startswith("No winner: ranking and test disagree. A ranks first")
    assert "B is better on those that both ran" in words
    assert "A is better" not in words


def test_unscored_trials_that_could_turn_a_difference_round_leave_no_winner() -> None:
    found = hard_half_missing(unscored=range(50, 100))
    (pair,) = found.pairs
    assert pair.success.bounds == pytest.approx((-0.1, 0.4))
    assert found.better(pair) is None
    assert found.hidden(pair)
    assert "could turn that round" in verdict(found)
    few = judge(agents(A={"t": task(rates(95, 98), unscored=[98, 99])}, B={"t": task(rates(60, 100))}), FEW)
    assert few.winner == "A", "two of a hundred cannot"


def test_unscored_trials_reach_scores_too() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(0.6, 0.05, 60)
    a = task([1] * 30, scores[:30], unscored=range(30, 60))
    b = task([1] * 60, np.concatenate([scores[:30] - 0.1, scores[30:]]))
    bounded = judge(agents(A={"t": a}, B={"t": b}), JudgeCfg(n_resamples=300, limits=Interval(0.0, 1.0)))
    assert bounded.different(bounded.pairs[0])
    assert bounded.winner is None
    assert judge(agents(A={"t": a}, B={"t": b}), FEW).pairs[0].score.bounds is not None, "from what was seen"


# 2: equal episodes of different seeds are evidence --------------------------------------------------------------------
# (how repeats are recognised is in tests/record/test_columns.py)


# 3: tasks are strata --------------------------------------------------------------------------------------------------


def test_simpsons_paradox_comes_out_right_and_is_remarked_on() -> None:
    """A is better on both tasks, and was tried on the hard one more often."""
    a = {"easy": task(rates(93, 100), seed=range(100)), "hard": task(rates(730, 1000), seed=range(1000, 2000))}
    b = {"easy": task(rates(870, 1000), seed=range(5000, 6000)), "hard": task(rates(69, 100), seed=range(9000, 9100))}
    both = [AgentTrials(name, tasks, pairs=False) for name, tasks in (("A", a), ("B", b))]
    found = judge(both, FEW)
    own = found.pairs[0].success
    assert found.agents[0].agent == "A"
    assert own.value == pytest.approx(0.05)
    assert own.pooled is not None
    assert own.pooled < 0
    assert any("Simpson's paradox" in words for words in cautions_of(found))
    alike = judge(both, JudgeCfg(n_resamples=300, weights="trials"))
    assert alike.agents[0].agent == "B", "trials that count alike are another question"


def test_one_task_more_often_tried_does_not_decide() -> None:
    a = {"often": task(rates(300, 300)), "seldom": task(rates(0, 10))}
    b = {"often": task(rates(270, 300)), "seldom": task(rates(10, 10))}
    found = judge(agents(A=a, B=b), FEW)
    assert found.agents[0].agent == "B"
    assert found.agents[0].rate == pytest.approx(0.95)


# 4: seeds are clusters ------------------------------------------------------------------------------------------------


def false_alarms(tasks: int, seeds: int, correlation: float, runs: int, binary: bool) -> float:
    rng = np.random.default_rng(11)
    alarms = 0
    for _ in range(runs):
        tables = {}
        for name in "ab":
            shared = rng.normal(size=(seeds, 1)) * np.sqrt(correlation)
            values = shared + rng.normal(size=(seeds, tasks)) * np.sqrt(1 - correlation)
            columns = (values > 0 if binary else values).T
            tables[name] = {
                f"t{i}": task(own if binary else own > 0, None if binary else own) for i, own in enumerate(columns)
            }
        found = judge(agents(**tables), FEW)
        alarms += found.different(found.pairs[0])
    return alarms / runs


@pytest.mark.parametrize("binary", [False, True])
def test_tasks_that_share_seeds_raise_no_false_alarms(binary: bool) -> None:
    """10 tasks x 10 seeds, correlation 0.3: pairs counted as independent gave 20 %."""
    assert false_alarms(10, 10, 0.3, 400, binary) <= 0.06


def test_repeated_trials_of_one_seed_are_one_unit() -> None:
    seeds = np.repeat(np.arange(5), 20)
    a, b = (task([first] * 100, index=range(100), seed=seeds) for first in (1, 0))
    (pair,) = judge(agents(A={"t": a}, B={"t": b}), FEW).pairs
    assert pair.success.units == 5
    assert pair.success.test is not None
    assert pair.success.test.p_value == pytest.approx(2 / 32)


# 5: the gate passes only on what ran ----------------------------------------------------------------------------------


def test_trials_that_did_not_run_prove_nothing() -> None:
    base = AgentTrials("base", {"t": task(rates(600, 600)), "u": task(rates(600, 600))})
    whole = AgentTrials("new", {"t": task(rates(600, 600)), "u": task(rates(600, 600))})
    part = AgentTrials("new", {"t": task(rates(600, 600)), "u": task(rates(300, 300), missing=range(300, 600))})
    lost = AgentTrials("new", {"t": task(rates(600, 600)), "u": task(rates(300, 300), unscored=range(300, 600))})
    assert rule_on(whole, base, "success", 0.02, FEW).ruling is Ruling.NOT_WORSE
    for new in (part, lost):
        gate = rule_on(new, base, "success", 0.02, FEW)
        assert gate.ruling is Ruling.OPEN
        assert gate.failed(require_proof=True)
        assert not gate.failed(require_proof=False)
        assert gate.lacking == ("u",)
    absent = rule_on(whole, base, "success", 0.02, FEW, left_out=["v"])
    assert (absent.ruling, absent.lacking) == (Ruling.OPEN, ("v",))


def test_scores_without_limits_prove_nothing_where_trials_are_missing() -> None:
    rng = np.random.default_rng(2)
    new = AgentTrials("new", {"t": task([1] * 200, rng.normal(5, 0.1, 200), missing=[200])})
    base = AgentTrials("base", {"t": task([1] * 201, rng.normal(0, 0.1, 201))})
    assert rule_on(new, base, "score", 0.1, FEW).ruling is Ruling.OPEN


# 7: many agents -------------------------------------------------------------------------------------------------------


def test_many_equal_agents_are_not_told_apart_and_unequal_ones_are() -> None:
    rng = np.random.default_rng(3)
    false = 0
    for _ in range(6):
        found = judge([AgentTrials(f"a{i}", {"t": task(rng.random(20) < 0.5)}) for i in range(20)], FEW)
        false += any(found.different(pair) for pair in found.pairs)
    assert false <= 1, "without a correction nearly every table of 190 pairs has one"
    many = [AgentTrials(f"a{i:02}", {"t": task([1] * 60, rng.normal(i, 0.5, 60))}) for i in range(40)]
    found = judge(many, FEW)
    assert found.winner == "a39", "780 pairs need p-values far below 1 in 10,000"


# 9: small samples and odd data ----------------------------------------------------------------------------------------


def alarms_of(draw: Any, test: Any, runs: int = 600) -> float:
    rng = np.random.default_rng(5)
    return sum((found := test(*draw(rng))) is not None and found.p_value <= 0.05 for _ in range(runs)) / runs


def one(values: np.ndarray) -> Units:
    return Units.of([values], [np.arange(len(values))], [1.0])


def test_arms_of_1000_and_5() -> None:
    @cache
    def alarm(one: int, other: int) -> bool:
        return compare_rates(one, 1000, other, 5).p_value <= 0.05

    rng = np.random.default_rng(6)
    alarms = sum(alarm(int(rng.binomial(1000, 0.9)), int(rng.binomial(5, 0.9))) for _ in range(300))
    assert alarms / 300 <= 0.06
    assert compare_rates(90_000, 100_000, 1, 5).method == "Fisher's exact test"


def test_two_and_two_can_show_nothing() -> None:
    found = unpaired_test(one(np.array([0.0, 0.1])), one(np.array([5.0, 5.1])))
    assert found is not None
    assert found.p_value > 0.3


def test_unequal_spread_and_unequal_numbers() -> None:
    def draw(rng: np.random.Generator) -> tuple[Units, Units]:
        return one(rng.normal(0, 3, 8)), one(rng.normal(0, 1, 40))

    assert alarms_of(draw, unpaired_test, 300) <= 0.075


@pytest.mark.parametrize("sign", [1, -1])
def test_skewed_differences(sign: int) -> None:
    """Sign flips alone: 6 to 9 % for exponential, 13 % for lognormal differences with n = 21."""

    def exponential(rng: np.random.Generator) -> tuple[Units]:
        return (one(sign * (rng.exponential(size=21) - 1)),)

    def lognormal(rng: np.random.Generator) -> tuple[Units]:
        return (one(sign * (np.exp(rng.normal(size=21)) - np.exp(0.5))),)

    assert alarms_of(exponential, paired_test) <= 0.06
    assert alarms_of(lognormal, paired_test) <= 0.1


def test_rare_disasters_of_bounded_scores() -> None:
    """One trial in twenty is a disaster that makes the means equal: 35 % without limits."""

    def draw(rng: np.random.Generator) -> tuple[Units]:
        return (one(np.where(rng.random(21) < 0.05, -0.95, 0.05) + rng.normal(0, 0.01, 21)),)

    assert alarms_of(draw, lambda units: paired_test(units, reach=0.95)) <= 0.05


def test_equal_scores_have_no_p_value() -> None:
    same = {"t": task([1] * 30, [0.5] * 30)}
    found = judge(agents(A=same, B=same), FEW)
    (pair,) = found.pairs
    assert (pair.score.test, pair.score.p_adjusted) == (None, None)
    words = verdict(found)
    assert words == "A and B have exactly the same score on 30 pairs of trials: no winner."


# 8: looking again -----------------------------------------------------------------------------------------------------


def test_after_a_look_p_holds_at_every_look() -> None:
    rng = np.random.default_rng(8)
    a, b = {"t": task(rng.random(80) < 0.75)}, {"t": task(rng.random(80) < 0.5)}
    once, again = (judge(agents(A=a, B=b), JudgeCfg(n_resamples=300, looked=looked)) for looked in (False, True))
    first, second = once.pairs[0].success.test, again.pairs[0].success.test
    assert first is not None
    assert second is not None
    assert second.p_value > first.p_value
    assert second.method == "always-valid bets on signs"
    assert any("hold at every look" in words for words in cautions_of(again))
