"""Leaderboards: laws of means, intervals, ranks and terms; then which runs make one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from term_runs import GOALIE, OBSTACLE, SKILLS, TARGET, TASKS, contest, outcome

from proctor.config.models import ScoringCfg, TaskCfg
from proctor.errors import InputError
from proctor.record.episode import Outcome
from proctor.scoring import make_scoring
from proctor.stats import Resampling, bootstrap
from proctor.verdict.comparison import JudgeCfg
from proctor.verdict.leaderboard import Entry, Leaderboard, build, leaderboard
from proctor.verdict.leaderboard.build import BROKEN, Contest, task_shares
from proctor.verdict.leaderboard.gaps import EXACT, ONCE
from proctor.verdict.trials import TaskTrials

FEW = JudgeCfg(n_resamples=200)


def trials(scores: Any, prints: Any = None) -> TaskTrials:
    """Trials with these scores, which are all of one term `x` with the weight 1."""
    values = np.asarray(scores, float)
    n = np.arange(len(values))
    marks = n + 1 if prints is None else np.asarray(prints)
    return TaskTrials(n, values > 0, values, marks.astype(np.uint64), seed=n, terms={"x": values})


def made(
    agents: dict[str, dict[str, TaskTrials]], task_weights: dict[str, float] | None = None, **weights: float
) -> Leaderboard:
    tasks = tuple(next(iter(agents.values())))
    scoring = make_scoring(ScoringCfg(mode="terminal", options={"weights": weights or {"x": 1.0}}))
    return build(Contest("made up", tasks, agents, scoring), FEW, task_weights or {})


def entry(board: Leaderboard, agent: str) -> Entry:
    return next(entry for entry in board.entries if entry.agent == agent)


def drawn(seed: int, n: int = 15, shift: float = 0.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(shift, 1.0, n)


# Means and intervals --------------------------------------------------------------------------------------------------


def test_the_score_is_the_weighted_mean_of_the_tasks_means() -> None:
    cells = {"a": trials([1.0, 3.0]), "b": trials([5.0, 5.5, 6.0])}
    assert made({"one": cells}).entries[0].score == pytest.approx((2.0 + 5.5) / 2)
    weighted = made({"one": cells}, {"b": 3.0})
    assert weighted.entries[0].score == pytest.approx((2.0 + 3 * 5.5) / 4)
    assert weighted.weights == {"a": 0.25, "b": 0.75}
    assert made({"one": cells}, {"a": 0.0}).entries[0].score == pytest.approx(5.5)


@given(scale=st.floats(1e-3, 1e3), a=st.floats(0, 5), b=st.floats(0.1, 5))
def test_only_ratios_of_weights_count(scale: float, a: float, b: float) -> None:
    one, other = (task_shares(["a", "b"], {"a": k * a, "b": k * b}) for k in (1.0, scale))
    assert one == pytest.approx(other)
    assert sum(one.values()) == pytest.approx(1.0)


def test_one_task_has_the_interval_of_the_bootstrap() -> None:
    values = drawn(3)
    found = made({"one": {"t": trials(values)}}).entries[0]
    direct = bootstrap([values], resampling=Resampling(200, 0)).interval
    assert found.interval == pytest.approx(direct)
    assert found.tasks[0].interval == pytest.approx(direct)


def test_tasks_that_count_alike_have_the_interval_of_the_pooled_mean() -> None:
    values = [drawn(4), drawn(5)]
    found = made({"one": {"a": trials(values[0]), "b": trials(values[1])}}).entries[0]
    assert found.interval == pytest.approx(bootstrap(values, resampling=Resampling(200, 0)).interval)


@settings(max_examples=10, deadline=None)
@given(order=st.permutations(["a", "b", "c"]), tasks=st.permutations(["t", "u", "v"]))
def test_the_order_of_agents_and_tasks_changes_nothing_but_columns(order: list[str], tasks: list[str]) -> None:
    def board(agents: list[str], tasks: list[str]) -> Leaderboard:
        cells = {a: {t: trials(drawn(ord(a) * ord(t), 9, ord(a) - 97)) for t in tasks} for a in agents}
        return made(cells, {"u": 2.0})

    first, other = board(["a", "b", "c"], ["t", "u", "v"]), board(order, tasks)
    by_task = [
        replace(e, tasks=tuple(sorted(e.tasks, key=lambda task: task.task)), terms=pytest.approx(e.terms))
        for e in other.entries
    ]
    assert by_task == list(first.entries)
    assert other.gaps == first.gaps
    assert other.tasks == tuple(tasks)


@settings(max_examples=15, deadline=None)
@given(copies=st.lists(st.integers(1, 4), min_size=6, max_size=6))
def test_copies_of_an_episode_change_no_interval_and_no_rank(copies: list[int]) -> None:
    def board(times: list[int]) -> Leaderboard:
        prints = np.repeat(np.arange(1, 7), times)
        return made({a: {"t": trials(np.repeat(drawn(i, 6, i), times), prints)} for i, a in enumerate("abc")})

    once, often = board([1] * 6), board(copies)
    for before, after in zip(once.entries, often.entries, strict=True):
        assert (after.agent, after.interval, after.rank) == (before.agent, before.interval, before.rank)
        assert (after.n_distinct, after.n) == (6, sum(copies))
    assert [gap.interval for gap in often.gaps] == [gap.interval for gap in once.gaps]
    assert any("to the byte" in words for words in often.cautions) == (sum(copies) > 6)


def test_a_task_with_one_different_episode_is_held_fixed() -> None:
    still, free = trials([2.0] * 4, [7] * 4), drawn(8)
    found = made({"one": {"still": still, "free": trials(free)}})
    one, alone = found.entries[0], bootstrap([free], resampling=Resampling(200, 0)).interval
    assert alone is not None
    assert one.interval == pytest.approx((1 + alone.low / 2, 1 + alone.high / 2))
    assert one.fixed == ("still",)
    assert one.tasks[0].interval is None
    assert "On still some agents have a single different episode" in found.cautions[-1]
    nothing = made({"one": {"still": still}}).entries[0]
    assert (nothing.interval, nothing.score) == (None, 2.0)
    assert nothing.reason == "every task has a single different episode, which tells nothing of the spread"


# Ranks ----------------------------------------------------------------------------------------------------------------


def test_ranks_count_the_agents_that_are_shown_to_be_better() -> None:
    noise = {a: drawn(i, 20) for i, a in enumerate(["near", "nearer", "far"])}
    values = {"near": noise["near"] + 4, "nearer": noise["nearer"] + 4.1, "far": noise["far"] - 4}
    board = made({a: {"t": trials(v)} for a, v in values.items()})
    assert {e.agent: (e.rank, e.letters) for e in board.entries} == {
        "near": (1, "a"), "nearer": (1, "a"), "far": (3, "b"),
    }  # fmt: skip
    assert [gap.apart for gap in board.gaps] == [False, True, True]


def test_equal_agents_share_everything() -> None:
    board = made({a: {"t": trials(drawn(1))} for a in "ba"})
    assert [(e.agent, e.rank, e.letters) for e in board.entries] == [("a", 1, "a"), ("b", 1, "a")]
    assert board.entries[0].interval == board.entries[1].interval
    assert (board.gaps[0].value, board.gaps[0].p) == (0.0, 1.0)


def test_where_no_seed_changes_an_episode_differences_are_exact() -> None:
    def still(value: float, n: int) -> dict[str, TaskTrials]:
        return {"t": trials([value] * n, [9] * n)}

    apart = made({"x": still(1.0, 3), "y": still(1.5, 3), "z": still(1.0, 3)})
    assert [(e.agent, e.rank) for e in apart.entries] == [("y", 1), ("x", 2), ("z", 2)]
    assert {gap.reason for gap in apart.gaps} == {EXACT}
    once = made({"x": still(1.0, 1), "y": still(1.5, 1)})
    assert [e.rank for e in once.entries] == [1, 1]
    assert once.gaps[0].reason == ONCE
    assert "t was tried once: try it again." in once.cautions[-1]


# Terms and advice -----------------------------------------------------------------------------------------------------


def test_terms_add_up_to_the_score(tmp_path: Path) -> None:
    board = leaderboard([contest(tmp_path)], JudgeCfg(n_resamples=100), {TARGET: 2.0})
    for one in board.entries:
        assert sum(one.terms.values()) == pytest.approx(one.score)
        for task in one.tasks:
            assert sum(task.terms.values()) == pytest.approx(task.score)
    assert board.terms[-1] == "steps"


def test_broken_trials_add_their_floor(tmp_path: Path) -> None:
    def wins(trial: Any) -> Any:
        return {"outcome": Outcome.POLICY_ERROR} if trial.index < 3 else outcome(trial)

    board = leaderboard([contest(tmp_path, agents=("walker",), tasks=(TARGET,), wins=wins, floor=-6.0)], FEW)
    (one,) = board.entries
    assert one.terms[BROKEN] == pytest.approx(-6.0 * 3 / 12)
    assert sum(one.terms.values()) == pytest.approx(one.score)
    bare = leaderboard([contest(tmp_path / "bare", agents=("walker", "statue"), tasks=(TARGET,), wins=wins)], FEW)
    assert [(e.score, e.rank, e.interval) for e in bare.entries] == [(None, None, None)] * 2
    assert bare.entries[0].reason == "no score on KickToTarget"
    assert "No score for statue, walker" in bare.cautions[-1]
    assert "for which scoring.floor sets a score" in bare.cautions[-1]


def test_what_would_raise_a_score_by_hand(tmp_path: Path) -> None:
    """Ten episodes: eight falls, one goal, a slow ball; the other agent's is faster."""

    def wins(trial: Any) -> Any:
        good, i = trial.agent == "good", trial.index
        terms = dict.fromkeys(("robot_distance_ball", "offside", "ball_hits", "ball_blocked"), 0.0)
        terms |= {"robot_fallen": float(i < 8 and not good), "goal_scored": float(i == 9)}
        terms |= {"ball_vel_twd_goal": 2.0 if good else 0.2}
        return {"outcome": i == 9, "metrics": {f"term/{k}": v for k, v in terms.items()}, "trace": f"{i + 1:064x}"}

    path = contest(tmp_path, agents=("good", "bad"), tasks=(GOALIE,), wins=wins, n_trials=10)
    advice = entry(leaderboard([path], FEW), "bad").advice
    assert [(a.kind, a.term) for a in advice] == [
        ("raise", "ball_vel_twd_goal"), ("reach", "goal_scored"), ("avoid", "robot_fallen"),
    ]  # fmt: skip
    faster, goals, falls = advice
    assert (faster.own, faster.best, faster.gain) == pytest.approx((0.3, 3.0, 2.7))
    assert faster.example == "good"
    assert (goals.share, goals.gain) == pytest.approx((0.1, 2.25))
    assert (falls.share, falls.own, falls.gain) == pytest.approx((0.8, -1.2, 1.2))
    assert "steps" not in {a.term for e in leaderboard([path], FEW).entries for a in e.advice}


def test_other_scorings_have_ranks_and_no_terms(tmp_path: Path) -> None:
    keys = {"scoring": ScoringCfg(mode="success"), "agents": ("striker", "statue"), "n_trials": 20}
    board = leaderboard([contest(tmp_path, **keys)], FEW)
    assert board.terms == ()
    assert all(one.advice == () for one in board.entries)
    assert [one.agent for one in board.entries] == ["striker", "statue"]


# Which runs make one --------------------------------------------------------------------------------------------------


def test_runs_of_single_agents_make_the_leaderboard_of_one_run(tmp_path: Path) -> None:
    whole = leaderboard([contest(tmp_path)], FEW)
    parts = leaderboard([contest(tmp_path, name, agents=(name,)) for name in SKILLS], FEW)
    assert parts.entries == whole.entries
    assert parts.gaps == whole.gaps
    assert len(parts.runs) == 4


def test_an_option_that_says_what_holds_anyway_is_no_difference(tmp_path: Path) -> None:
    bare = contest(tmp_path, "bare", agents=("walker",))
    said = contest(tmp_path, "said", agents=("statue",), options={"preset": "sai", "steps": "once", "weights": {}})
    assert len(leaderboard([bare, said], FEW).entries) == 2


def test_agents_of_one_name_are_named_by_their_runs(tmp_path: Path) -> None:
    paths = [contest(tmp_path / str(i), agents=("walker",)) for i in range(2)]
    board = leaderboard(paths, FEW)
    assert sorted(one.agent for one in board.entries) == sorted(f"{path}:walker" for path in paths)


def test_runs_that_differ_are_refused_with_everything_that_differs(tmp_path: Path) -> None:
    first = contest(tmp_path, "first", versions={"mujoco": "3.3.7"})
    tasks = (GOALIE, OBSTACLE, TaskCfg(suite="gymnasium", name=TARGET, success_rule="ever"))
    second = contest(
        tmp_path, "second", tasks=tasks, base_seed=9, n_trials=8, versions={"mujoco": "3.2.1"},
        options={"preset": "sai", "steps": "count"},
    )  # fmt: skip
    third = contest(tmp_path, "third", tasks=TASKS[:2], versions={"mujoco": "3.3.7"})
    with pytest.raises(InputError) as refused:
        leaderboard([first, second, third])
    for words in (
        "these runs do not make one leaderboard; they differ in",
        "task KickToTarget, success_rule: at_end against ever",
        "seeds from: 123 against 9",
        "task KickToTarget, number of seeds: 12 against 8",
        "scoring.options.steps: once against count",
        "version of mujoco: 3.3.7 against 3.2.1",
        "tasks: GoaliePenaltyKick, KickToTarget, ObstaclePenaltyKick against GoaliePenaltyKick, ObstaclePenaltyKick",
        "proctor compare --across-protocols",
    ):
        assert words in str(refused.value)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"KickTarget": 2.0}, '--weight KickTarget=2: no task "KickTarget"; did you mean "KickToTarget"?'),
        ({TARGET: -1.0}, "--weight KickToTarget=-1: expected 0 or more"),
        (dict.fromkeys(TASKS, 0.0), "every task has the weight 0; leave one that counts"),
    ],
)
def test_wrong_weights_of_tasks(weights: dict[str, float], message: str) -> None:
    with pytest.raises(InputError) as refused:
        task_shares(TASKS, weights)
    assert message in str(refused.value)


def test_nothing_to_rank(tmp_path: Path) -> None:
    lost = contest(tmp_path, wins=lambda trial: Outcome.WORKER_LOST)
    with pytest.raises(InputError, match="no run has a scored trial; there is nothing to rank"):
        leaderboard([lost])
    with pytest.raises(InputError, match="no run folder; name one or more"):
        leaderboard([])
    with pytest.raises(InputError, match="a level of 95; it lies between 0 and 1"):
        leaderboard([lost], JudgeCfg(level=95))


def test_unscored_trials_and_trials_after_a_stop_stay_out(tmp_path: Path) -> None:
    def wins(trial: Any) -> Any:
        if trial.index == 0:
            return Outcome.TIMEOUT
        return {**outcome(trial), "after_stop": trial.index > 5}

    board = leaderboard([contest(tmp_path, agents=("walker",), tasks=(TARGET,), wins=wins)], FEW)
    (task,) = board.entries[0].tasks
    assert (task.n, task.n_unscored) == (5, 1)
    assert "Unscored trials are in no mean: walker 1." in board.cautions
