"""What holds of every verdict, whatever the table of runs: drawn at random with agents, tasks and seeds missing,
unscored, unpaired and repeated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.report.build.judgement import verdict
from proctor.verdict.comparison import AgentTrials, Comparison, JudgeCfg, TaskTrials, judge

QUICK = JudgeCfg(n_resamples=100)


@st.composite
def tables(draw: st.DrawFn) -> list[AgentTrials]:
    """Two to four agents of different skill on one to three tasks; some trials missing, some unscored."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, n_tasks = draw(st.integers(6, 40)), draw(st.integers(1, 3))
    binary, pairs = draw(st.booleans()), draw(st.booleans())
    lost = draw(st.sampled_from([0.0, 0.0, 0.1, 0.5]))
    made = []
    for name in "abcd"[: draw(st.integers(2, 4))]:
        skill = rng.uniform(0.1, 0.9)
        tasks = {}
        for i in range(n_tasks):
            index = np.flatnonzero(rng.random(n) < rng.choice([1.0, 1.0, 0.6]))
            broken = rng.random(len(index)) < lost
            won = rng.random((~broken).sum()) < skill
            score = won.astype(float) if binary else rng.normal(skill, 0.3, len(won))
            seed = index[~broken] if pairs else index[~broken] + 1000 * ord(name)
            tasks[f"t{i}"] = TaskTrials(index[~broken], won, score, index[broken], seed=seed)
        made.append(AgentTrials(name, tasks, pairs))
    return made


def named(found: Comparison) -> str | None:
    """The agent that the sentence calls better than all others."""
    words = verdict(found)
    first = found.agents[0].agent
    return first if words.startswith(f"{first} is better than") else None


@given(tables())
@settings(max_examples=80, deadline=None)
def test_the_named_winner_has_the_better_estimate_on_the_tested_trials(agents: list[AgentTrials]) -> None:
    found = judge(agents, QUICK)
    winner = named(found)
    assert winner == found.winner
    if winner is not None:
        for pair in found.pairs:
            if pair.a == winner:
                own = pair.of(found.by)
                assert own.value > 0
                assert own.value_a > own.value_b
                assert own.bounds is None or own.bounds.low > 0


@given(tables())
@settings(max_examples=40, deadline=None)
def test_swapping_names_swaps_the_verdict(agents: list[AgentTrials]) -> None:
    swapped = {"a": "b", "b": "a"}
    found = judge(agents, QUICK)
    other = judge([replace(agent, name=swapped.get(agent.name, agent.name)) for agent in agents], QUICK)
    assert found.winner == (None if other.winner is None else swapped.get(other.winner, other.winner))


@given(tables(), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_names_of_tasks_and_order_change_nothing(agents: list[AgentTrials], random) -> None:
    found = judge(agents, QUICK)
    names = list(agents[0].tasks)
    fresh = dict(zip(names, random.sample(["x", "y", "z"], len(names)), strict=True))
    turned = random.sample(names, len(names))
    shuffled = [replace(agent, tasks={fresh[task]: agent.tasks[task] for task in turned}) for agent in agents]
    random.shuffle(shuffled)
    other = judge(shuffled, QUICK)
    assert other.winner == found.winner
    p = {frozenset((pair.a, pair.b)): pair.of(found.by).p_adjusted for pair in found.pairs}
    assert {frozenset((pair.a, pair.b)): pair.of(found.by).p_adjusted for pair in other.pairs} == p


@given(tables(), st.integers(1, 10))
@settings(max_examples=40, deadline=None)
def test_worst_case_trials_never_make_a_winner(agents: list[AgentTrials], more: int) -> None:
    """Failed trials of the first agent, on seeds on which the others succeed, do not help it."""
    before = judge(agents, QUICK)
    first = before.agents[0].agent
    if before.winner is not None:
        return

    def added(agent: AgentTrials) -> AgentTrials:
        task, own = next(iter(agent.tasks.items()))
        new = np.arange(1000, 1000 + more)
        won = np.full(more, agent.name != first)
        low = min((float(t.score.min()) for a in agents for t in a.tasks.values() if t.n), default=0.0)
        high = max(float(t.score.max()) for a in agents for t in a.tasks.values() if t.n)
        trials = TaskTrials(
            np.concatenate([own.index, new]), np.concatenate([own.success, won]),
            np.concatenate([own.score, np.where(won, high, low)]), own.unscored,
            seed=np.concatenate([own.seeds, new if agent.pairs else new + 10_000 * ord(agent.name)]),
        )  # fmt: skip
        return replace(agent, tasks={**agent.tasks, task: trials})

    assert judge([added(agent) for agent in agents], QUICK).winner != first
