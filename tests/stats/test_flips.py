"""Flipped sums with and without compiled code are the same to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.stats import flips, kernels
from proctor.stats.resampling import Resampling


@pytest.mark.parametrize("n", [1, 21, 64, 65, 300])
@pytest.mark.parametrize("first", [0, 7])
def test_they_agree_to_the_bit(n, first):
    values = np.random.default_rng(n).normal(scale=100.0, size=n)
    keys = Resampling(50, seed=n).stream_keys()
    plain, compiled = np.empty(50), np.empty(50)
    flips.flipped_sums(plain, first, keys, values)
    kernels.flipped_sums(compiled, first, keys, values)
    assert plain.tobytes() == compiled.tobytes()
