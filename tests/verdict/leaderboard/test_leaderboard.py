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
from proctor.scoring import make_scoring
from proctor.stats import Resampling, bootstrap
from proctor.verdict.comparison import JudgeCfg
from proctor.verdict.leaderboard import Entry, Leaderboard, build, leaderboard
from proctor.verdict.leaderboard.build import BROKEN, Contest, task_shares
from proctor.verdict.trials import TaskTrials
from proctor_host.episode import Outcome

FEW = JudgeCfg(n_resamples=200)


def trials(scores: Any, first_seed: int = 0) -> TaskTrials:
    """Trials with these scores, which are all of one term `x` with the weight 1."""
    values = np.asarray(scores, float)
    n = np.arange(len(values))
    return TaskTrials(n, values > 0, values, seed=n + first_seed, terms={"x": values})


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
    found = made({"one": {"a": trials(values[0]), "b": trials(values[1], 100)}}).entries[0]
    pooled = bootstrap(values, resampling=Resampling(200, 0)).interval
    assert pooled is not None
    assert found.interval == pytest.approx(pooled, abs=0.1 * pooled.width)


def test_tasks_that_share_seeds_are_resampled_by_seed() -> None:
    values = [drawn(4), drawn(5)]
    found = made({"one": {"a": trials(values[0]), "b": trials(values[1])}}).entries[0]
    by_seed = bootstrap([(values[0] + values[1]) / 2], resampling=Resampling(200, 0)).interval
    assert found.interval == pytest.approx(by_seed)


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
    assert [(p.a, p.b, p.score.p_adjusted) for p in other.comparison.pairs] == [
        (p.a, p.b, p.score.p_adjusted) for p in first.comparison.pairs
    ]
    assert other.tasks == tuple(tasks)


# Ranks ----------------------------------------------------------------------------------------------------------------


def test_ranks_go_by_score_and_letters_by_what_is_shown() -> None:
    noise = {a: drawn(i, 20) for i, a in enumerate(["near", "nearer", "far"])}
    values = {"near": noise["near"] + 4, "nearer": noise["nearer"] + 4.1, "far": noise["far"] - 4}
    board = made({a: {"t": trials(v)} for a, v in values.items()})
    assert [(e.rank, e.letters) for e in board.entries] == [(1, "a"), (2, "a"), (3, "b")]
    assert board.entries[2].agent == "far"
    assert [board.comparison.better(p) is not None for p in board.comparison.pairs] == [False, True, True]


def test_equal_agents_share_everything() -> None:
    board = made({a: {"t": trials(drawn(1))} for a in "ba"})
    assert [(e.agent, e.rank, e.letters) for e in board.entries] == [("a", 1, "a"), ("b", 1, "a")]
    assert board.entries[0].interval == board.entries[1].interval
    (pair,) = board.comparison.pairs
    assert (pair.score.value, pair.score.test, pair.score.untested) == (0.0, None, "no pair of trials differs")


# Terms and advice -----------------------------------------------------------------------------------------------------


def test_terms_add_up_to_the_score(tmp_path: Path) -> None:
    board = leaderboard([contest(tmp_path)], weights={TARGET: 2.0})
    for one in board.entries:
        assert sum(one.terms.values()) == pytest.approx(one.score)
        for task in one.tasks:
            assert sum(task.terms.values()) == pytest.approx(task.score)
    assert board.terms[-1] == "steps"


def test_broken_trials_add_their_floor(tmp_path: Path) -> None:
    def wins(trial: Any) -> Any:
        return {"outcome": Outcome.POLICY_ERROR} if trial.index < 3 else outcome(trial)

    board = leaderboard([contest(tmp_path, agents=("walker",), tasks=(TARGET,), wins=wins, floor=-6.0)])
    (one,) = board.entries
    assert one.terms[BROKEN] == pytest.approx(-6.0 * 3 / 12)
    assert sum(one.terms.values()) == pytest.approx(one.score)
    bare = leaderboard([contest(tmp_path / "bare", agents=("walker", "statue"), tasks=(TARGET,), wins=wins)])
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
    advice = entry(leaderboard([path]), "bad").advice
    assert [(a.kind, a.term) for a in advice] == [
        ("raise", "ball_vel_twd_goal"), ("reach", "goal_scored"), ("avoid", "robot_fallen"),
    ]  # fmt: skip
    faster, goals, falls = advice
    assert (faster.own, faster.best, faster.gain) == pytest.approx((0.3, 3.0, 2.7))
    assert faster.example == "good"
    assert (goals.share, goals.gain) == pytest.approx((0.1, 2.25))
    assert (falls.share, falls.own, falls.gain) == pytest.approx((0.8, -1.2, 1.2))
    assert "steps" not in {a.term for e in leaderboard([path]).entries for a in e.advice}


def test_other_scorings_have_ranks_and_no_terms(tmp_path: Path) -> None:
    keys = {"scoring": ScoringCfg(mode="success"), "agents": ("striker", "statue"), "n_trials": 20}
    board = leaderboard([contest(tmp_path, **keys)])
    assert board.terms == ()
    assert all(one.advice == () for one in board.entries)
    assert [one.agent for one in board.entries] == ["striker", "statue"]


# Which runs make one --------------------------------------------------------------------------------------------------


def test_runs_of_single_agents_make_the_leaderboard_of_one_run(tmp_path: Path) -> None:
    whole = leaderboard([contest(tmp_path)])
    parts = leaderboard([contest(tmp_path, name, agents=(name,)) for name in SKILLS])
    assert parts.entries == whole.entries
    assert parts.comparison == whole.comparison
    assert len(parts.runs) == 4


def test_an_option_that_says_what_holds_anyway_is_no_difference(tmp_path: Path) -> None:
    bare = contest(tmp_path, "bare", agents=("walker",))
    said = contest(tmp_path, "said", agents=("statue",), options={"preset": "sai", "steps": "once", "weights": {}})
    assert len(leaderboard([bare, said]).entries) == 2


def test_agents_of_one_name_are_named_by_their_runs(tmp_path: Path) -> None:
    paths = [contest(tmp_path / str(i), agents=("walker",)) for i in range(2)]
    board = leaderboard(paths)
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
        leaderboard([lost], 95)


def test_unscored_trials_and_trials_after_a_stop_stay_out(tmp_path: Path) -> None:
    def wins(trial: Any) -> Any:
        if trial.index == 0:
            return Outcome.TIMEOUT
        return {**outcome(trial), "after_stop": trial.index > 5}

    board = leaderboard([contest(tmp_path, agents=("walker",), tasks=(TARGET,), wins=wins)])
    (task,) = board.entries[0].tasks
    assert (task.n, task.n_unscored) == (5, 1)
    assert "Unscored trials are in no mean: walker 1." in board.cautions
