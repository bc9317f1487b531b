from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, mannwhitneyu

from proctor.stats import NoInterval, Resampling, performance_profile, probability_of_improvement


def data(seed: int, *sizes: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.random(n).round(1) for n in sizes]


def test_a_profile_is_the_share_above_each_threshold_within_its_band() -> None:
    strata, tau = data(0, 20, 30), np.linspace(-0.1, 1.1, 13)
    found = performance_profile(strata, tau)
    pooled = np.concatenate(strata)
    assert found.shares == pytest.approx([(pooled > t).mean() for t in tau], abs=1e-12)
    assert found.low is not None
    assert found.high is not None
    assert (found.low <= found.shares + 1e-12).all()
    assert (found.shares <= found.high + 1e-12).all()
    assert (np.diff(found.shares) <= 0).all()


def test_where_all_or_none_are_above_the_band_is_the_exact_one() -> None:
    found = performance_profile(data(1, 12, 13), np.array([-1.0, 2.0]))
    assert found.low is not None
    assert found.high is not None
    for k, n_above in enumerate((25, 0)):
        exact = binomtest(n_above, 25).proportion_ci(0.95, method="exact")
        assert (found.low[k], found.high[k]) == pytest.approx((exact.low, exact.high))


def test_threads_change_nothing_and_bad_thresholds_are_refused() -> None:
    strata, tau = data(2, 9, 9), np.linspace(0, 1, 5)
    one, four = (performance_profile(strata, tau, resampling=Resampling(100, threads=n)) for n in (1, 4))
    assert np.array_equal(one.low, four.low)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="thresholds must ascend"):
        performance_profile(strata, np.array([1.0, 0.0]))


def test_no_values_and_equal_values_are_said() -> None:
    tau = np.array([0.5])
    assert performance_profile([], tau).reason is NoInterval.NO_VALUES
    assert np.isnan(performance_profile([], tau).shares).all()
    flat = performance_profile([np.ones(4)], tau)
    assert (flat.reason, flat.low, flat.shares[0]) == (NoInterval.EQUAL, None, 1.0)


def test_improvement_is_mann_whitneys_in_the_mean_over_tasks() -> None:
    a, b = data(3, 8, 11, 5), data(4, 9, 6, 7)
    expected = np.mean([mannwhitneyu(x, y).statistic / (len(x) * len(y)) for x, y in zip(a, b, strict=True)])
    found = probability_of_improvement(a, b)
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert found.interval is not None
    assert found.interval.low < expected < found.interval.high


def test_improvement_mirrors_and_ties_count_half() -> None:
    a, b = data(5, 8, 8), data(6, 8, 8)
    one, other = probability_of_improvement(a, b), probability_of_improvement(b, a)
    assert one.value is not None
    assert other.value is not None
    assert one.value + other.value == pytest.approx(1)
    assert probability_of_improvement(a, a).value == pytest.approx(0.5)


def test_improvement_grows_with_the_difference_and_ends_without_an_interval() -> None:
    a = data(7, 15, 15)
    moved = probability_of_improvement([values + 0.3 for values in a], a)
    assert moved.interval is not None
    assert moved.interval.low > 0.5
    apart = probability_of_improvement([values + 9 for values in a], a)
    assert (apart.value, apart.interval, apart.reason) == (1.0, None, NoInterval.CONSTANT)
    assert probability_of_improvement([np.array([np.nan, 1])], [np.ones(2)]).reason is NoInterval.MISSING
