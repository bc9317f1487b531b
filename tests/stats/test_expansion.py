"""The interval of a mean of many values, by BCa's expansion."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.stats import NoInterval, Resampling, bootstrap, bootstrap_mean
from proctor.stats.bootstrap import EXPANSION, MANY, mean_expansion


def strata(n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(4)
    return [rng.exponential(size=n // 2), 5 + rng.normal(size=n - n // 2)]


def test_it_agrees_with_resampling() -> None:
    found, resampled = (
        mean_expansion(strata(4000), 0.95),
        bootstrap(strata(4000), resampling=Resampling(40_000)).interval,
    )
    assert resampled is not None
    assert found.low == pytest.approx(resampled.low, abs=0.02 * found.width)
    assert found.high == pytest.approx(resampled.high, abs=0.02 * found.width)


def test_it_leans_to_the_long_tail_and_mirrors() -> None:
    values = [np.random.default_rng(0).exponential(size=300)]
    low, high = mean_expansion(values, 0.95)
    mean = float(values[0].mean())
    assert high - mean > mean - low
    mirrored = mean_expansion([-values[0]], 0.95)
    assert (mirrored.low, mirrored.high) == pytest.approx((-high, -low))


@pytest.mark.parametrize(("n", "expanded"), [(MANY, False), (MANY + 2, True)])
def test_many_values_are_not_resampled(n: int, expanded: bool) -> None:
    assert (bootstrap_mean(strata(n)).method == EXPANSION) is expanded


def test_equal_and_missing_values_have_no_interval_however_many_there_are() -> None:
    equal = bootstrap_mean([np.ones(MANY + 1)])
    assert (equal.interval, equal.reason) == (None, NoInterval.EQUAL)
    missing = bootstrap_mean([np.r_[np.nan, np.arange(MANY + 1.0)]])
    assert (missing.value, missing.interval, missing.n_missing) == (None, None, 1)
