"""Rotations of tensors are those of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from proctor.suites.tracking import judging, rotations

torch: Any = pytest.importorskip("torch")

from proctor.suites.tracking.device import rotations as theirs  # noqa: E402 - it needs torch


def quats(*shape: int, seed: int = 0) -> np.ndarray:
    return rotations.normalized(np.random.default_rng(seed).normal(size=(*shape, 4)))


def vectors(*shape: int) -> np.ndarray:
    return np.random.default_rng(9).normal(size=(*shape, 3))


def test_of_one_rotation():
    q = quats(5, 3)
    np.testing.assert_allclose(theirs.conjugate(torch.tensor(q)), rotations.conjugate(q), atol=1e-12)


def test_directions_come_one_after_the_other():
    q = quats(5, 3)
    z = rotations.rotate(q, np.broadcast_to([0.0, 0.0, 1.0], (5, 3, 3)))
    expected = [rotations.x_axis(q), z, rotations.gravity_in(q), rotations.y_axis(q)]
    found = theirs.directions(torch.tensor(q), "x z gravity y")
    np.testing.assert_allclose(found, np.concatenate(expected, axis=-1), atol=1e-12)


def test_of_two():
    a, b, v = quats(5, 3), quats(5, 1, seed=1), vectors(5, 3)
    a_, b_, v_ = map(torch.tensor, (a, b, v))
    for turn in ("rotate", "into"):
        np.testing.assert_allclose(getattr(theirs, turn)(b_, v_), getattr(rotations, turn)(b, v), atol=1e-12)
    np.testing.assert_allclose(theirs.lean(a_), judging.lean(a), atol=1e-12)


def test_a_heading_that_points_straight_up_is_0():
    up = np.array([[np.sqrt(0.5), 0.0, -np.sqrt(0.5), 0.0], [1.0, 0.0, 0.0, 0.0]])
    for found, expected in zip(theirs.heading(torch.tensor(up)), rotations.heading(up), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    q = quats(50)
    for found, expected in zip(theirs.heading(torch.tensor(q)), rotations.heading(q), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)
