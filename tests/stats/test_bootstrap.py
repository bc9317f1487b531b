import numpy as np
import pytest

from proctor.stats import bootstrap_mean


def data(seed: int, *sizes: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(loc=i, size=n) for i, n in enumerate(sizes)]


def run(strata: list[np.ndarray], seed: int = 0, **options: float):
    return bootstrap_mean(strata, rng=np.random.default_rng(seed), **options)  # type: ignore[arg-type]


def test_the_same_seed_gives_the_same_interval() -> None:
    strata = data(0, 12, 20)
    assert run(strata) == run(strata)
    assert run(strata) != run(strata, seed=1)


def test_the_interval_shifts_and_scales_with_the_data() -> None:
    strata = data(2, 15, 15)
    base, moved = run(strata), run([3 * values + 10 for values in strata])
    assert base.interval is not None
    assert moved.mean == pytest.approx(3 * base.mean + 10)  # type: ignore[operator]
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
    assert (found.mean, found.n, found.interval, found.degenerate) == (3.0, 1, None, False)
    assert run([np.array([3.0]), np.arange(5.0)]).interval is None


def test_equal_values_are_flagged() -> None:
    found = run([np.full(8, 0.25)])
    assert found.degenerate
    assert found.interval is None


def test_nothing_has_nothing_and_empty_strata_are_left_out() -> None:
    assert run([]).mean is None
    assert run([np.empty(0)]).n == 0
    strata = data(6, 9)
    assert run([*strata, np.empty(0)]) == run(strata)


def test_nan_is_counted_and_leaves_no_mean() -> None:
    found = run([np.array([1.0, np.nan, 2.0]), np.array([np.nan, 1.0])])
    assert (found.mean, found.n, found.n_missing, found.interval) == (None, 3, 2, None)
