"""Calls the kernels that every report needs once, so that they are compiled."""

from __future__ import annotations

import numpy as np

from proctor.stats import bootstrap_mean, performance_profile, probability_of_improvement, sign_flip


def warm() -> None:
    rng = np.random.default_rng(0)
    one, other = ([rng.random(24) for _ in range(2)] for _ in range(2))
    bootstrap_mean(one)
    performance_profile(one, np.linspace(0.0, 1.0, 5))
    probability_of_improvement(one, other)
    sign_flip(one[0] - other[0])
