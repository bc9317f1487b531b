"""Pairs of agents: laws first (order, labels), then values by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.stats import mcnemar, newcombe, tango, wilson
from proctor.verdict.comparison import AgentTrials, JudgeCfg, TaskTrials, judge, needed_trials
from proctor.verdict.comparison.pairs import compare_pair

QUICK = JudgeCfg(n_resamples=200)


def trials(success, score=None, *, index=None, unscored=(), seed=None) -> TaskTrials:
    won = np.asarray(success, dtype=bool)
    return TaskTrials(
        index=np.arange(len(won)) if index is None else np.asarray(index),
        success=won,
        score=won.astype(float) if score is None else np.asarray(score, dtype=float),
        unscored=np.asarray(unscored, dtype=np.int64),
        seed=None if seed is None else np.asarray(seed),
    )


def agent(name: str, success, score=None, **rest) -> AgentTrials:
    pairs = rest.pop("pairs", True)
    return AgentTrials(name, {"t": trials(success, score, **rest)}, pairs)


bits = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)


@given(bits)
@settings(max_examples=40, deadline=None)
def test_swapping_the_agents_turns_the_difference(rows) -> None:
    a, b = agent("a", [x for x, _ in rows]), agent("b", [y for _, y in rows])
    there, back = compare_pair(a, b, QUICK), compare_pair(b, a, QUICK)
    assert (there.a, there.b) == (back.b, back.a)
    assert there.success.value == pytest.approx(-back.success.value)
    assert there.success.interval == pytest.approx((-back.success.interval.high, -back.success.interval.low))
    assert there.success.p_adjusted == back.success.p_adjusted
    assert (
        (there.success.test is None)
        == (back.success.test is None)
        == (there.discordance[1] + there.discordance[2] == 0)
    )
    assert (there.discordance.only_a, there.discordance.only_b) == (back.discordance.only_b, back.discordance.only_a)
    assert there.tasks[0].wins == back.tasks[0].losses


@given(bits)
@settings(max_examples=40, deadline=None)
def test_the_order_of_trials_changes_nothing(rows) -> None:
    a, b = agent("a", [x for x, _ in rows]), agent("b", [y for _, y in rows])
    order = np.random.default_rng(0).permutation(len(rows))
    shuffled = [AgentTrials(each.name, {"t": trials(each.tasks["t"].success[order], index=order)}) for each in (a, b)]
    assert compare_pair(a, b, QUICK) == compare_pair(*shuffled, QUICK)


def test_paired_success_is_mcnemar_and_tango() -> None:
    a = agent("a", [1] * 12 + [0] * 2 + [1] * 6 + [0] * 5)
    b = agent("b", [1] * 12 + [0] * 2 + [0] * 6 + [1] * 5)
    found = compare_pair(a, b, QUICK)
    assert found.paired
    assert found.discordance == (12, 6, 5, 2)
    assert found.success.value == pytest.approx(1 / 25)
    assert found.success.interval == tango(found.discordance)
    assert found.success.test == mcnemar(6, 5)
    assert found.success.effects["paired_odds_ratio"] == pytest.approx(6.5 / 5.5)
    assert found.score.test == found.success.test, "scores of 0 and 1 are rates"


def test_without_common_seeds_rates_are_independent_and_say_so() -> None:
    a = agent("a", [1] * 8 + [0] * 2, seed=np.arange(10))
    b = agent("b", [1] * 3 + [0] * 7, seed=np.arange(100, 110))
    found = compare_pair(a, b, QUICK)
    assert found.unpaired_because == "seeds differ"
    assert found.success.test.method == "Barnard's exact test"
    assert found.success.interval == newcombe(8, 10, 3, 10)
    assert found.discordance is None
    assert found.tasks[0].wins is None
    large = compare_pair(agent("a", [1] * 201, pairs=False), agent("b", [0] * 201), QUICK)
    assert large.unpaired_because == "trials do not say which of them began alike"
    assert large.success.test.method == "score test"


def test_trials_without_partner_are_left_out_and_counted() -> None:
    found = compare_pair(agent("a", [1, 1, 0]), agent("b", [0, 1], index=[0, 5]), QUICK)
    assert (found.n_a, found.n_single) == (1, 3)
    nothing = compare_pair(agent("a", [1, 1]), agent("b", [1], index=[9]), QUICK)
    assert nothing.unpaired_because == "no seed was run by both"


def test_unscored_trials_leave_bounds() -> None:
    a = agent("a", [1, 1, 0], index=[0, 1, 2], unscored=[3])
    b = agent("b", [0, 1, 0, 1], index=[0, 1, 2, 3])
    found = compare_pair(a, b, QUICK)
    assert (found.n_a, found.n_unscored, found.n_single) == (3, 1, 0)
    assert found.success.value == pytest.approx(1 / 3)
    assert found.success.bounds == (0.0, 0.25)
    assert compare_pair(agent("a", [1]), agent("b", [1]), QUICK).success.bounds is None


def test_a_missing_score_leaves_no_score_difference() -> None:
    found = compare_pair(agent("a", [1, 1], [0.3, np.nan]), agent("b", [1, 0], [0.2, 0.1]), QUICK)
    assert found.score.value is None
    assert found.score.test is None
    assert "some trials have no value" in found.score.reason
    assert found.success.value == 0.5


def test_equal_scores_have_no_interval_and_say_why() -> None:
    found = compare_pair(agent("a", [1] * 5, [0.3] * 5), agent("b", [1] * 5, [0.3] * 5), QUICK)
    assert found.score.interval is None
    assert "all values are equal" in found.score.reason
    assert found.score.test is None
    assert found.score.untested == "no pair of trials differs"


def test_many_pairs_are_compared_by_formula_and_say_so() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=20_001)
    a, b = agent("a", x > 0, x + 0.02), agent("b", x > 0, x + rng.normal(size=len(x)) * 0.1)
    found = compare_pair(a, b, QUICK)
    assert found.score.method == "Student's interval of pairs, corrected for skewness"
    assert found.score.test.method == "sign flips and Student's test corrected for skewness, the larger p"
    low, high = found.score.interval
    assert low < found.score.value < high
    assert found.score.test.p_value < 1e-6


# All pairs ------------------------------------------------------------------------------------------------------------


def test_ranks_letters_and_holm() -> None:
    rng = np.random.default_rng(0)
    hard = rng.random(120)
    agents = [agent(name, hard < rate) for name, rate in (("low", 0.2), ("best", 0.9), ("near", 0.88))]
    found = judge(agents, QUICK)
    assert [s.agent for s in found.agents] == ["best", "near", "low"]
    assert [s.rank for s in found.agents] == [1, 2, 3]
    assert [s.letters["success"] for s in found.agents] == ["a", "a", "b"]
    assert found.agents[0].rate_interval == wilson(found.agents[0].successes, 120)
    raw = [pair.success.test.p_value for pair in found.pairs]
    adjusted = [pair.success.p_adjusted for pair in found.pairs]
    assert all(p <= q for p, q in zip(raw, adjusted, strict=True))
    assert min(adjusted) == pytest.approx(3 * min(raw))
    assert [(p.a, p.b) for p in found.pairs] == [("best", "near"), ("best", "low"), ("near", "low")]


def test_agents_without_trials_come_last_and_enter_no_pair() -> None:
    found = judge([agent("none", []), agent("b", [1, 0]), agent("c", [1, 1])], QUICK)
    assert [s.agent for s in found.agents] == ["c", "b", "none"]
    assert found.agents[-1].rank is None
    assert len(found.pairs) == 1


def test_with_many_agents_all_pairs_are_tested() -> None:
    rng = np.random.default_rng(1)
    found = judge([agent(f"a{i:02}", rng.random(10) < 0.5) for i in range(25)], QUICK)
    assert len(found.pairs) == 25 * 24 / 2
    assert {standing.letters["success"] for standing in found.agents} == {"a"}
    with pytest.raises(ValueError, match="201 agents; at most 200 are compared"):
        judge([agent(f"a{i}", [1]) for i in range(201)], QUICK)


def test_agents_without_a_common_task_are_refused() -> None:
    other = AgentTrials("b", {"u": trials([1])})
    with pytest.raises(ValueError, match="no task is common to all agents"):
        judge([agent("a", [1]), other], QUICK)


def test_more_trials_settle_what_is_open() -> None:
    rng = np.random.default_rng(2)
    open_ = judge([agent("a", rng.random(40) < 0.6), agent("b", rng.random(40) < 0.5)], QUICK)
    needed = needed_trials(open_, open_.pairs[0])
    assert needed is not None
    assert needed.n is not None
    assert needed.n > 40
    same = judge([agent("a", [1, 0]), agent("b", [1, 0])], QUICK)
    assert needed_trials(same, same.pairs[0]) is None


def test_intervals_that_hold_all_at_once_are_wider_and_only_of_several_pairs() -> None:
    rng = np.random.default_rng(7)
    agents = [agent(name, [1] * 40, rng.normal(i, 1, 40)) for i, name in enumerate("abc")]
    for pair in judge(agents, QUICK).pairs:
        assert pair.score.simultaneous is not None
        assert pair.score.simultaneous.width > pair.score.interval.width
    (alone,) = judge(agents[:2], QUICK).pairs
    assert alone.score.simultaneous is None
