"""Intervals of bounded numbers stay within their range, and are made there."""

from __future__ import annotations

import math

import numpy as np
import pytest
from goal_answers import SPACE, TASKS, cfg, every, gallery_of, visuals_of
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.stats import student_t
from proctor.suites.goals.evidence import Answers
from proctor.suites.goals.intervals import AT_THE_END, COSINE, around, jackknife, mean_interval, stratified

RANGES = {
    "accuracy": (-1, 1), "retrieval": (0, 1), "consistency": (-1, 1), "robustness": (-1, 1),
    "discriminability": (0, 4 / 3), "variance": (0, 1 / 3), "preservation_cross_space": (0, math.inf),
}  # fmt: skip


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([1e-6, 1e-3, 0.05, 0.5, 5.0]), st.sampled_from(["raw", "shifted"]))
def test_no_interval_leaves_the_range_of_its_number(seed: int, noise: float, mode: str) -> None:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(4, 3))
    goals = centres[:, None] + noise * rng.normal(size=(4, 3, 3))
    wordings = {task: c + noise * rng.normal(size=(3, 2, 3)) for task, c in zip(TASKS, centres, strict=True)}
    pictures = {task: c + noise * rng.normal(size=(4, 3)) for task, c in zip(TASKS, centres, strict=True)}
    texts = visuals_of({"a": rng.normal(size=(4, 3))}).tasks["a"].embeddings
    answers = Answers("p", "", SPACE, TASKS, goals, wordings, texts)
    found = every(answers, gallery_of(visuals_of(pictures)), cfg(accuracy=mode))
    for name, (low, high) in RANGES.items():
        of_one_task = [] if name == "discriminability" else [*found[name].by_task.values()]
        for reading in (found[name].overall, *of_one_task):
            assert reading.value is not None
            assert low <= reading.value <= high
            if reading.interval is not None:
                assert low <= reading.interval.low < reading.value < reading.interval.high <= high, name


def test_far_from_the_ends_it_is_students_interval() -> None:
    values = 1e-3 * np.random.default_rng(0).normal(size=12)
    ours, theirs = mean_interval(values, 0.9, COSINE)[0], student_t(values, 0.9)
    assert theirs is not None
    assert ours == pytest.approx(theirs, rel=1e-4)


def test_the_mirror_of_a_number_has_the_mirror_of_its_interval() -> None:
    one, other = (around(value, 0.05, (4, 0.95), COSINE)[0] for value in (0.9, -0.9))
    assert one is not None
    assert other is not None
    assert one == pytest.approx((-other.high, -other.low))


def test_nearly_one_is_not_beyond_one() -> None:
    interval, _ = jackknife(0.9999, [np.array([0.9997, 1.0, 1.0])], 0.95, COSINE)
    assert interval is not None
    assert interval.low < 0.9999 < interval.high <= 1
    held, _ = stratified([np.array([1.0, 1.0, 0.999999]), np.array([1.0, 1.0])], 0.95, 0)
    assert held is None or held.high <= 1


def test_where_there_is_none_the_reason_is_said() -> None:
    assert around(1.0, 0.1, (3, 0.95), COSINE) == (None, AT_THE_END)
    assert jackknife(0.5, [np.array([0.5])], 0.95, COSINE)[1] == "a task has too few units to leave one out"
    assert mean_interval(np.ones(1), 0.95, COSINE) == (None, "a single success")
    assert "equal" in (jackknife(0.5, [np.full(4, 0.5)], 0.95, COSINE)[1] or "")


def test_intervals_hold_what_they_are_for() -> None:
    """The mean cosine of two draws from a known distribution: 90 % intervals hold it about nine times of ten."""
    centre, noise = np.array([2.0, 0.0, 0.0]), 1.0
    rng = np.random.default_rng(0)
    large = centre + noise * rng.normal(size=(400_000, 3))
    truth = float(np.linalg.norm((large / np.linalg.norm(large, axis=1, keepdims=True)).mean(axis=0)) ** 2)
    held = []
    for _ in range(150):
        goals = np.repeat(centre[None, None], 4, axis=0) + noise * rng.normal(size=(4, 8, 3))
        answers = Answers("p", "", SPACE, TASKS, goals, dict.fromkeys(TASKS, goals[:1]))
        interval = every(answers, None, cfg(level=0.9))["consistency"].overall.interval
        assert interval is not None
        held.append(interval.low <= truth <= interval.high)
    assert 0.82 <= np.mean(held) <= 0.97
