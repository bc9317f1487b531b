"""Noise in rows, and tokens in rows."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor import Batch, Trial
from proctor.errors import MissingExtra
from proctor.policies.noise import torch_normal, torch_uniform
from proctor.policies.padding import LeftPad, left_pad

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")


def batch(*seeds: int) -> Batch:
    trials = [Trial("a", "t", seed, seed) for seed in seeds]
    return Batch(np.zeros((len(seeds), 1)), None, [t.policy_rng() for t in trials], trials)


@pytest.mark.parametrize("draw", [torch_normal, torch_uniform])
@given(st.lists(st.integers(0, 9), min_size=1, max_size=5, unique=True))
def test_a_row_of_noise_depends_on_its_trial_alone(draw: Any, seeds: list[int]) -> None:
    together = draw(batch(*seeds), (2, 3))
    assert together.shape == (len(seeds), 2, 3)
    for row, seed in enumerate(seeds):
        assert torch.equal(together[row], draw(batch(seed), (2, 3))[0])


def test_torch_gets_the_numbers_that_numpy_gets() -> None:
    assert torch.equal(torch_normal(batch(3, 4), (5,)), torch.from_numpy(batch(3, 4).normal((5,), np.float32)))
    assert torch.equal(torch_uniform(batch(3), (5,)), torch.from_numpy(batch(3).uniform((5,), np.float32)))


def test_a_narrow_dtype_is_the_same_noise_rounded() -> None:
    wide = torch_normal(batch(1, 2), (4,))
    assert torch.equal(torch_normal(batch(1, 2), (4,), dtype=torch.bfloat16), wide.to(torch.bfloat16))
    double = torch_normal(batch(1), (4,), dtype=torch.float64)
    assert torch.equal(double, torch.from_numpy(batch(1).normal((4,))))


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r'noise as torch tensors needs the package "torch"'):
        torch_normal(batch(1), (2,))


def test_tokens_stand_at_the_right_and_the_mask_says_which_they_are() -> None:
    tokens, mask = left_pad([[7, 8], [], [1, 2, 3, 4]], LeftPad(4, value=9))
    assert tokens.tolist() == [[9, 9, 7, 8], [9, 9, 9, 9], [1, 2, 3, 4]]
    assert mask.tolist() == [[False, False, True, True], [False] * 4, [True] * 4]


@given(st.lists(st.lists(st.integers(0, 50), max_size=6), min_size=1, max_size=4))
def test_padding_a_row_does_not_depend_on_the_others(rows: list[list[int]]) -> None:
    tokens, mask = left_pad(rows, LeftPad(6))
    assert [t[m].tolist() for t, m in zip(tokens, mask, strict=True)] == rows
    for row, sequence in enumerate(rows):
        alone, _ = left_pad([sequence], LeftPad(6))
        assert (alone[0] == tokens[row]).all()


@pytest.mark.parametrize(
    ("sequence", "says"),
    [
        ([1, 2, 3], r"found 3 tokens; the stage declares LeftPad\(2\). Declare a greater length"),
        ([1.5], r"found tokens of shape \(1,\) and dtype float64; expected a list of whole numbers"),
        ("ab", r"found tokens of shape \(\) and dtype <U2"),
    ],
)
def test_what_is_no_sequence_of_the_declared_length_is_refused(sequence: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        left_pad([sequence], LeftPad(2))


def test_a_length_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="found length 0; expected at least one token"):
        LeftPad(0)
