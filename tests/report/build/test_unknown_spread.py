"""A task of one trial, or with equal scores, is not known exactly: the mean over tasks then has no interval."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from proctor.config.models import ScoringCfg
from proctor.report import build_report, text
from proctor.report.draw.markup import forest
from proctor.report.model import Report
from proctor.stats import Interval, NoInterval, Resampling, Units, mean_estimate

VARIED = np.array([0.3, 0.5, 0.1, 0.9, 0.4])


def units(*tasks: np.ndarray, shares: tuple[float, ...] | None = None) -> Units:
    seeds = [np.arange(len(own)) for own in tasks]
    return Units.of(tasks, seeds, shares or [1 / len(tasks)] * len(tasks))


@pytest.mark.parametrize("limits", [None, Interval(-1.0, 1.0)])
def test_a_task_of_one_trial_leaves_no_interval_over_tasks(limits: Interval | None) -> None:
    found = mean_estimate(units(VARIED, np.array([0.2])), 0.95, Resampling(200), limits)
    assert (found.interval, found.reason) == (None, NoInterval.SINGLE_VALUE)
    assert found.value == pytest.approx((VARIED.mean() + 0.2) / 2)


def test_repeats_of_one_seed_are_one_trial() -> None:
    both = Units.of([VARIED, VARIED], [np.arange(5), np.zeros(5)], [0.5, 0.5])
    assert mean_estimate(both, 0.95, Resampling(200)).reason is NoInterval.SINGLE_VALUE


def test_a_task_with_equal_scores_leaves_none_unless_limits_say_what_else_could_come() -> None:
    own = units(VARIED, np.full(5, -0.2985) + 1e-13 * np.arange(5))
    assert mean_estimate(own, 0.95, Resampling(200)).reason is NoInterval.EQUAL_TASK
    bounded = mean_estimate(own, 0.95, Resampling(200), Interval(-1.0, 1.0)).interval
    assert bounded is not None
    assert bounded.width > 0.2


def test_a_task_that_counts_nothing_does_not_matter() -> None:
    assert mean_estimate(units(VARIED, np.ones(1), shares=(1.0, 0.0)), 0.95, Resampling(200)).interval is not None


def short_of(run, task: str, trials: int, reward: float | None = None) -> Report:
    """The run by returns, with so many trials of a task, of this return each."""
    kept = [r for r in run.results if r.trial.task != task or r.trial.index < trials]
    given = [
        dataclasses.replace(r, episode_reward=reward) if reward is not None and r.trial.task == task else r
        for r in kept
    ]
    cfg = run.cfg.model_copy(update={"scoring": ScoringCfg(mode="return", floor=0.0)})
    return build_report(cfg, iter(given), run.context)


@pytest.mark.parametrize(
    ("trials", "reward", "told"),
    [
        (1, None, "a single scored trial on insert"),
        (20, 3.5, "equal scores on insert"),
    ],
)
def test_a_report_says_why_there_is_no_interval(build, trials: int, reward: float | None, told: str) -> None:
    run = build(["expert", "student"], ["reach", "insert"], 20, faults=0.0)
    report = short_of(run, "insert", trials, reward)
    assert [agent.overall.score.interval for agent in report.agents] == [None, None]
    assert all(agent.overall.score.mean is not None for agent in report.agents)
    assert report.comparison is not None
    assert [standing.score_interval for standing in report.comparison.agents] == [None, None]
    (pair,) = report.comparison.pairs
    assert pair.score.interval is None
    (said,) = [f.text for f in report.findings if f.text.startswith("No interval of the mean score over all tasks")]
    assert told in said
    assert "expert" in said
    assert "student" in said


def test_a_figure_has_room_for_its_longest_value() -> None:
    rows = [("stand", "<svg></svg>", "−0.761486"), ("lunge", "<svg></svg>", "−1.744846")]
    assert '<figure style="--value:10ch">' in forest("Score", rows, "")
    assert "<figure>" in forest("Score", [("stand", "<svg></svg>", "−0.761")], "")


def test_scores_that_are_apart_by_rounding_errors_are_written_as_one_number() -> None:
    scores = [-0.298505420311, -0.298505420315, -0.298505420317]
    assert text.ranked_means(scores, [None] * 3) == ["−0.299"] * 3
    assert text.ranked_means([*scores, -0.2989], [None] * 4) == ["−0.2985"] * 3 + ["−0.2989"]
