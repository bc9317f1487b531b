"""Kernels of goal metrics: what is computed without a matrix equals what a matrix would say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.errors import InputError
from proctor.suites.goals.metrics.embeddings import Embeddings, SpaceMismatch, same_space, unit_rows
from proctor.suites.goals.metrics.pairwise import (
    mean_pairwise,
    mean_pairwise_without,
    own_cosines,
    task_variance,
    task_variance_without,
)
from proctor.suites.goals.metrics.retrieval import nearest, share_of_own

SHAPES = st.tuples(st.integers(3, 12), st.integers(2, 9), st.integers(0, 1000))


def directions(*shape: int, seed: int = 0, dtype: type = np.float64) -> np.ndarray:
    return unit_rows(np.random.default_rng(seed).normal(size=shape).astype(dtype), "made up")


def triangle(units: np.ndarray) -> float:
    table = units @ units.T
    return float(table[np.triu_indices(len(units), 1)].mean())


# Means without a matrix -----------------------------------------------------------------------------------------------


@given(SHAPES)
def test_mean_pairwise_is_the_mean_of_the_upper_triangle(shape: tuple[int, int, int]) -> None:
    units = directions(*shape[:2], seed=shape[2])
    assert mean_pairwise(units) == pytest.approx(triangle(units), abs=1e-12)


@given(SHAPES)
def test_leaving_out_is_computing_without(shape: tuple[int, int, int]) -> None:
    units = directions(shape[0], 3, shape[1], seed=shape[2])
    others = [np.delete(units, i, axis=0) for i in range(len(units))]
    assert task_variance_without(units) == pytest.approx([task_variance(rest) for rest in others], abs=1e-12)
    single = units[:, 0]
    expected = [triangle(np.delete(single, i, axis=0)) for i in range(len(single))]
    assert mean_pairwise_without(single) == pytest.approx(expected, abs=1e-12)


def test_variance_is_numpys_on_unit_vectors() -> None:
    units = directions(7, 4, 5)
    assert task_variance(units) == pytest.approx(units.var(axis=0).mean(), abs=1e-15)
    assert task_variance(np.repeat(units[:1], 6, axis=0)) == pytest.approx(0, abs=1e-16)


def test_hand_computed_values() -> None:
    square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    assert mean_pairwise(square) == pytest.approx(-1 / 3)
    assert task_variance(square[:, None]) == pytest.approx((2 / 3 + 2 / 9) / 2)
    assert mean_pairwise_without(square) == pytest.approx([0, -1, 0])


def test_too_few_rows_have_no_value() -> None:
    assert np.isnan(mean_pairwise(directions(1, 4)))
    assert np.isnan(mean_pairwise_without(directions(2, 4))).all()
    assert np.isnan(task_variance(directions(1, 2, 4)))
    assert np.isnan(task_variance_without(directions(2, 2, 4))).all()


@pytest.mark.parametrize("sizes", [[3, 3, 3], [1, 0, 5], [0, 0, 0]])
def test_own_cosines_of_equal_and_unequal_groups(sizes: list[int]) -> None:
    goals, visuals = directions(3, 6), directions(sum(sizes), 6, seed=1)
    offsets, group = np.cumsum([0, *sizes]), np.repeat(np.arange(3), sizes)
    expected = np.einsum("ij,ij->i", goals[group], visuals)
    assert own_cosines(goals, visuals, offsets) == pytest.approx(expected)


# Retrieval ------------------------------------------------------------------------------------------------------------


def dense(goals: np.ndarray, visuals: np.ndarray, k: int) -> np.ndarray:
    scores = goals @ visuals.T
    return np.array([np.lexsort((np.arange(len(row)), -row))[:k] for row in scores])


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(5, 200), st.integers(1, 5), st.integers(1, 60), st.integers(0, 99))
def test_blocks_equal_the_dense_answer(q: int, n: int, k: int, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    goals, visuals = rng.integers(-2, 3, (q, 3)).astype(float), rng.integers(-2, 3, (n, 3)).astype(float)
    found = nearest(goals, visuals, k, block=(7, width))
    assert (found.index == dense(goals, visuals, k)).all()
    assert (found.cosine == np.take_along_axis(goals @ visuals.T, found.index, axis=1)).all()


@pytest.mark.parametrize("order", ["ascending", "descending", "equal"])
def test_blocks_in_the_least_convenient_order(order: str) -> None:
    ranks = {"ascending": np.arange(500), "descending": np.arange(500)[::-1], "equal": np.zeros(500)}[order]
    visuals = np.stack([ranks / 500, np.zeros(500)], axis=1)
    goals = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert (nearest(goals, visuals, 4, block=(2, 64)).index == dense(goals, visuals, 4)).all()


def test_share_of_own() -> None:
    visuals, group = np.eye(4), np.array([0, 0, 1, 1])
    goals = np.array([[2.0, 1, 0, 0], [2.0, 0, 0, 1]])
    found = nearest(goals, visuals, 2)
    assert share_of_own(found, np.array([0, 0]), group) == pytest.approx([1.0, 0.5])


@pytest.mark.parametrize("k", [0, 4])
def test_k_must_be_there(k: int) -> None:
    with pytest.raises(ValueError, match=f"the {k} nearest of 3 visuals"):
        nearest(directions(1, 2), directions(3, 2), k)


# Spaces ---------------------------------------------------------------------------------------------------------------


def test_spaces_do_not_mix() -> None:
    one, other = Embeddings(directions(2, 3), "clip/picture"), Embeddings(directions(2, 3), "clip/text")
    with pytest.raises(
        SpaceMismatch, match=r"goal accuracy compares embeddings of the space clip/picture with .*text: a"
    ):
        same_space(one, other, "goal accuracy")
    with pytest.raises(SpaceMismatch, match="3 and of 4 dimensions both name the space clip/picture"):
        same_space(one, Embeddings(directions(2, 4), "clip/picture"), "goal accuracy")


@pytest.mark.parametrize("scale", [1e-30, 1e-3, 7.0, 1e30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_units_do_not_know_the_scale(scale: float, dtype: type) -> None:
    vectors = np.random.default_rng(0).normal(size=(20, 8))
    scaled = Embeddings.of((scale * vectors).astype(dtype), "s").units
    assert scaled == pytest.approx(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), abs=1e-6)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([0.0, 0.0], "embedding 1 of s holds zeros only"),
        ([np.nan, 1.0], r"embedding 1 of s holds NaN or infinity, and has no direction \(1 of 2\)"),
        ([np.inf, 1.0], "NaN or infinity"),
    ],
)
def test_what_has_no_direction_is_refused(row: list[float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        _ = Embeddings.of(np.array([[1.0, 2.0], row]), "s").units


@pytest.mark.parametrize(
    ("vectors", "space", "words"),
    [
        (np.zeros(3), "s", r"shape \(3,\); expected \(n, d\)"),
        (np.zeros((2, 0)), "s", "expected .n, d. with d >= 1"),
        (np.ones((2, 2)), "", "without the name of their space"),
    ],
)
def test_malformed_embeddings_are_refused(vectors: np.ndarray, space: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Embeddings.of(vectors, space)


def test_halves_become_single_precision() -> None:
    assert Embeddings.of(np.ones((2, 2), np.float16), "s").vectors.dtype == np.float32
