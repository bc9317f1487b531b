from statistics import NormalDist

import numpy as np
import pytest

from proctor.stats import (
    IQM,
    MEAN,
    MEDIAN,
    TRIAL_MEDIAN,
    NoInterval,
    Resampling,
    bootstrap,
    bootstrap_difference,
    bootstrap_mean,
    optimality_gap,
)
from proctor.stats.bootstrap import bca_interval


def data(seed: int, *sizes: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(loc=i, size=n) for i, n in enumerate(sizes)]


def run(strata: list[np.ndarray], seed: int = 0, **options: float):
    return bootstrap_mean(strata, resampling=Resampling(seed=seed), **options)


def test_the_same_seed_gives_the_same_interval() -> None:
    strata = data(0, 12, 20)
    assert run(strata) == run(strata)
    assert run(strata) != run(strata, seed=1)


def test_the_interval_shifts_and_scales_with_the_data() -> None:
    strata = data(2, 15, 15)
    base, moved = run(strata), run([3 * values + 10 for values in strata])
    assert base.interval is not None
    assert moved.value == pytest.approx(3 * base.value + 10)  # type: ignore[operator]
    assert moved.interval == pytest.approx([3 * end + 10 for end in base.interval])


def test_a_higher_level_gives_a_wider_interval_around_the_mean() -> None:
    strata = data(3, 30)
    narrow, wide = run(strata, level=0.8).interval, run(strata, level=0.99).interval
    assert narrow is not None
    assert wide is not None
    assert wide.low < narrow.low < float(strata[0].mean()) < narrow.high < wide.high


def test_differences_between_strata_do_not_widen_the_interval() -> None:
    near, far = data(4, 20, 20), data(4, 20, 20)
    far[1] = far[1] + 1000
    one, two = run(near).interval, run(far).interval
    assert one is not None
    assert two is not None
    assert one.high - one.low == pytest.approx(two.high - two.low)


def test_it_agrees_with_the_normal_interval_on_much_data() -> None:
    values = data(5, 4000)[0]
    interval = run([values]).interval
    half = 1.96 * values.std() / np.sqrt(len(values))
    assert interval == pytest.approx((values.mean() - half, values.mean() + half), abs=half * 0.08)


def test_one_value_has_a_mean_but_no_interval() -> None:
    found = run([np.array([3.0])])
    assert (found.value, found.n, found.interval, found.reason) == (3.0, 1, None, NoInterval.SINGLE_VALUE)
    assert run([np.array([3.0]), np.arange(5.0)]).interval is None


def test_equal_values_are_flagged() -> None:
    found = run([np.full(8, 0.25)])
    assert found.reason is NoInterval.EQUAL
    assert found.interval is None


def test_nothing_has_nothing_and_empty_strata_are_left_out() -> None:
    assert run([]).value is None
    assert run([np.empty(0)]).n == 0
    strata = data(6, 9)
    assert run([*strata, np.empty(0)]) == run(strata)


def test_nan_is_counted_and_leaves_no_mean() -> None:
    found = run([np.array([1.0, np.nan, 2.0]), np.array([np.nan, 1.0])])
    assert (found.value, found.n, found.n_missing, found.interval) == (None, 3, 2, None)


@pytest.mark.parametrize("aggregate", [MEAN, IQM, MEDIAN, TRIAL_MEDIAN, optimality_gap(1.0)], ids=lambda a: a.name)
@pytest.mark.parametrize("scheme", ["stratified", "hierarchical"])
def test_the_interval_is_around_the_estimate_and_the_same_for_any_number_of_threads(aggregate, scheme) -> None:
    strata = data(7, 9, 14, 11, 8)
    one, three = (bootstrap(strata, aggregate, 0.9, Resampling(999, 5, scheme, n)) for n in (1, 3))
    assert one == three
    assert one.interval is not None
    assert one.value is not None
    assert one.interval.low < one.value < one.interval.high
    assert one.reason is None


def test_new_tasks_vary_more_than_new_trials() -> None:
    strata = [values + 3 * i for i, values in enumerate(data(8, 10, 10, 10, 10))]
    trials, tasks = (bootstrap(strata, resampling=Resampling(scheme=s)) for s in ("stratified", "hierarchical"))
    assert trials.interval is not None
    assert tasks.interval is not None
    assert tasks.interval.width > 3 * trials.interval.width


@pytest.mark.parametrize(
    ("strata", "scheme", "reason"),
    [
        ([], "stratified", NoInterval.NO_VALUES),
        ([np.array([1.0, np.nan])], "stratified", NoInterval.MISSING),
        ([np.arange(4.0), np.array([1.0])], "stratified", NoInterval.SINGLE_VALUE),
        ([np.arange(4.0)], "hierarchical", NoInterval.SINGLE_TASK),
        ([np.ones(6)], "stratified", NoInterval.EQUAL),
        ([np.ones(6), np.zeros(6)], "stratified", NoInterval.EQUAL),
        ([np.ones(6), np.ones(2)], "hierarchical", NoInterval.EQUAL),
    ],
)
def test_where_there_is_no_interval_the_reason_is_given(strata, scheme, reason) -> None:
    found = bootstrap(strata, resampling=Resampling(scheme=scheme))
    assert (found.interval, found.reason) == (None, reason)


def test_resamples_that_never_vary_give_no_interval_either() -> None:
    values = np.array([1.0] * 99 + [2.0])
    found = bootstrap([values], TRIAL_MEDIAN)
    assert (found.value, found.interval, found.reason) == (1.0, None, NoInterval.CONSTANT)
    assert "though the values differ" in NoInterval.CONSTANT


def test_without_skew_shift_and_stretch_bca_reads_percentiles() -> None:
    samples = np.random.default_rng(0).permutation(np.linspace(-1, 1, 1001))
    assert bca_interval(samples, 0.0, 0.9, 0.0) == pytest.approx(np.quantile(samples, [0.05, 0.95]), abs=1e-9)


def test_bca_by_hand() -> None:
    """An estimate at the 60 % point of its resamples, and an acceleration of 0.05 (Efron and Tibshirani, 14.10)."""
    samples, normal = np.linspace(0, 1, 100_001), NormalDist()
    shift = normal.inv_cdf(0.6)
    ends = [normal.cdf(shift + (shift + z) / (1 - 0.05 * (shift + z))) for z in (-1.959964, 1.959964)]
    assert bca_interval(samples, 0.6, 0.95, 0.05) == pytest.approx(ends, abs=1e-4)


def test_a_difference_of_pairs_is_the_mean_of_differences() -> None:
    a, b = data(9, 12, 15), data(10, 12, 15)
    found = bootstrap_difference(a, b, paired=True)
    alone = bootstrap([x - y for x, y in zip(a, b, strict=True)])
    assert found.interval == pytest.approx(alone.interval, abs=1e-12)
    assert (found.n, found.value) == (27, pytest.approx(alone.value))


def test_pairing_narrows_where_seeds_matter_and_exchange_mirrors() -> None:
    seeds = np.random.default_rng(11).normal(size=40)
    a, b = [seeds + 0.1 * data(12, 40)[0]], [seeds]
    for aggregate in (MEAN, IQM, TRIAL_MEDIAN):
        paired, unpaired = (bootstrap_difference(a, b, aggregate, paired=p) for p in (True, False))
        assert paired.interval is not None
        assert unpaired.interval is not None
        assert paired.interval.width < unpaired.interval.width / 3
        assert unpaired.n == 80
    mirrored = bootstrap_difference(b, a, paired=True).interval
    assert mirrored is not None
    straight = bootstrap_difference(a, b, paired=True).interval
    assert straight == pytest.approx((-mirrored.high, -mirrored.low), abs=1e-9)


def test_agents_that_never_differ_have_no_interval_of_their_difference() -> None:
    a = data(13, 6, 6)
    found = bootstrap_difference(a, a, paired=True)
    assert (found.value, found.interval, found.reason) == (0.0, None, NoInterval.EQUAL)


def test_samples_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="1 tasks against 2"):
        bootstrap_difference(data(0, 3), data(0, 3, 3), paired=True)
    with pytest.raises(ValueError, match="3 values against 4 on a task"):
        bootstrap_difference(data(0, 3), data(0, 4), paired=True)
    with pytest.raises(ValueError, match="a task has values in one sample only"):
        bootstrap_difference([np.ones(3)], [np.empty(0)], paired=False)


DRAWN = {
    "normal": (lambda rng, n: rng.normal(size=n), 0.0),
    "skewed": (lambda rng, n: rng.exponential(size=n), 1.0),
    "bounded": (lambda rng, n: rng.beta(0.5, 2, size=n), 0.2),
}


@pytest.mark.parametrize("n", [50, 100])
@pytest.mark.parametrize("kind", DRAWN)
def test_means_are_held_as_often_as_promised(kind: str, n: int) -> None:
    """1,500 samples have a standard error of 0.6 points; the law allows 2.5."""
    draw, truth = DRAWN[kind]
    rng = np.random.default_rng([n, len(kind)])
    intervals = [bootstrap([draw(rng, n)], resampling=Resampling(600, i, threads=1)).interval for i in range(1500)]
    held = np.mean([interval is not None and interval.low <= truth <= interval.high for interval in intervals])
    assert held == pytest.approx(0.95, abs=0.025)
