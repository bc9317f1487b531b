"""The seven metrics as public functions: symmetries, then values worked out by hand, then what is not available."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from goal_answers import SPACE, TASKS, cfg, every, made_up

from proctor import InputError
from proctor.suites.goals import (
    Embeddings,
    consistency,
    discriminability,
    goal_accuracy,
    goal_variance,
    quality_gap,
    retrieval,
    semantic_robustness,
)
from proctor.suites.goals.metrics.embeddings import SpaceMismatch

OF_ROWS = (consistency, semantic_robustness, discriminability, goal_variance)


def rows(n: int, dim: int = 5, seed: int = 0, lean: float = 0.5) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, dim)) + lean


def turn(dim: int = 5) -> np.ndarray:
    """A rotation or a reflection."""
    return np.linalg.qr(np.random.default_rng(9).normal(size=(dim, dim)))[0]


def by_task(seed: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(4, 5))
    return [c + rng.normal(size=(3, 5)) for c in centres], [c + rng.normal(size=(n, 5)) for n, c in
                                                            zip((2, 6, 9, 7), centres, strict=True)]  # fmt: skip


# Symmetries -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", OF_ROWS)
def test_order_length_and_rotation_of_rows_change_nothing(metric: Any) -> None:
    own, rng = rows(7), np.random.default_rng(1)
    value = metric(own)
    assert metric(own[rng.permutation(7)]) == pytest.approx(value)
    assert metric(own * rng.uniform(0.1, 9, (7, 1))) == pytest.approx(value)
    assert metric(own @ turn()) == pytest.approx(value)


def test_accuracy_is_symmetric_and_turns_with_both() -> None:
    goals, visuals = rows(3), rows(6, seed=2)
    value = goal_accuracy(goals, visuals)
    assert goal_accuracy(visuals, goals) == pytest.approx(value)
    assert goal_accuracy(goals[::-1] * 3, visuals[::-1] / 7) == pytest.approx(value)
    assert goal_accuracy(goals @ turn(), visuals @ turn()) == pytest.approx(value)
    assert goal_accuracy(-goals, visuals) == pytest.approx(-value if value else 0)


def test_retrieval_knows_neither_the_order_of_tasks_nor_lengths_nor_directions() -> None:
    goals, visuals = by_task()
    value = retrieval(goals, visuals, k=4)
    order = [2, 0, 3, 1]
    assert retrieval([goals[i] for i in order], [visuals[i] for i in order], k=4) == pytest.approx(value)
    assert retrieval([5 * g @ turn() for g in goals], [v @ turn() / 3 for v in visuals], k=4) == pytest.approx(value)


def test_the_gap_turns_its_sign_with_its_sides_and_pairs_have_no_order() -> None:
    visual, prior = [True, True, False, True], [False, True, True, False]
    assert quality_gap(visual, prior) == 0.25
    assert quality_gap(prior, visual) == -0.25
    assert quality_gap(visual[::-1], prior[::-1]) == 0.25


def test_they_are_what_the_report_has() -> None:
    answers, gallery, visuals = made_up()
    found = every(answers, gallery, cfg())
    pictures = [visuals.tasks[task].embeddings.vectors for task in TASKS]
    of_tasks = {
        "accuracy": [goal_accuracy(g, v) for g, v in zip(answers.goals, pictures, strict=True)],
        "consistency": [consistency(own) for own in answers.goals],
        "robustness": [semantic_robustness(answers.wordings[task]) for task in TASKS],
    }
    for name, values in of_tasks.items():
        assert [own.value for own in found[name].by_task.values()] == pytest.approx(values)
        assert found[name].overall.value == pytest.approx(np.mean(np.array(values, float)))
    assert found["retrieval"].overall.value == pytest.approx(retrieval(list(answers.goals), pictures, k=2))
    assert found["discriminability"].overall.value == pytest.approx(discriminability(answers.goals))
    assert found["variance"].overall.value == pytest.approx(goal_variance(answers.goals))


# Values ---------------------------------------------------------------------------------------------------------------


def test_values_by_hand() -> None:
    axes, tilted = np.eye(2), np.array([[1.0, 0.0], [1.0, 1.0]])
    assert goal_accuracy([1.0, 0.0], tilted) == pytest.approx((1 + np.sqrt(0.5)) / 2)
    assert consistency(tilted) == pytest.approx(np.sqrt(0.5))
    assert semantic_robustness(tilted) == pytest.approx(np.sqrt(0.5))
    assert semantic_robustness(np.stack([axes, axes])) == pytest.approx(0.5)
    assert discriminability(axes) == pytest.approx(1)
    assert discriminability([[1, 0], [-1, 0]]) == pytest.approx(2)
    assert discriminability([[1, 1], [2, 2]]) == pytest.approx(0)
    assert goal_variance([[1, 0], [-1, 0]]) == pytest.approx(0.5)
    assert retrieval([[1, 0], [0, 1]], [[[1, 0], [1, 0.1]], [[0, 1], [0.1, 1]]], k=2) == 1
    assert retrieval([[0, 1], [1, 0]], [[[1, 0], [1, 0.1]], [[0, 1], [0.1, 1]]], k=2) == 0
    assert retrieval([[1, 0.2], [0, 1]], [[[1, 0]], [[1, 0.3], [0, 1]]], k=5) == pytest.approx((0 + 1) / 2)


# Not available --------------------------------------------------------------------------------------------------------


def test_what_cannot_be_said_is_none() -> None:
    for metric in OF_ROWS:
        assert metric(rows(1)) is None
        assert metric(np.empty((0, 5))) is None
    assert goal_accuracy(rows(1), np.empty((0, 5))) is None
    assert retrieval([rows(1)], [np.empty((0, 5))]) is None
    assert quality_gap([], []) is None


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match=r"outcomes \(2,\) and \(1,\); expected two of one length"):
        quality_gap([1, 0], [1])
    with pytest.raises(InputError, match="goals of 1 tasks and visuals of 2; expected as many"):
        retrieval([rows(1)], [rows(1), rows(1)])
    with pytest.raises(InputError, match=r"draws have the shape \(2, 2, 2\); expected 2 axes"):
        consistency(np.ones((2, 2, 2)))
    with pytest.raises(InputError, match=r"embedding 1 of draws holds zeros only"):
        consistency([[1.0, 0.0], [0.0, 0.0]])
    with pytest.raises(SpaceMismatch, match="goal accuracy compares"):
        goal_accuracy(Embeddings(rows(2), "clip/text"), Embeddings(rows(2), SPACE))
