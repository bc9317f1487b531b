"""The kernel: which resamples are drawn, and that nothing but the seed decides it."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.stats import IQM, MEAN, MEDIAN, TRIAL_MEDIAN, Aggregate, Resampling, optimality_gap
from proctor.stats.resampling import replicates

ALL = [MEAN, IQM, MEDIAN, TRIAL_MEDIAN, optimality_gap(0.6)]
WORD = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def data(seed: int = 0, sizes: tuple[int, ...] = (7, 4, 10)) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.random(n) for n in sizes]


def mixed(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def start(key: int, replicate: int) -> int:
    return mixed(mixed((key + GOLDEN) & WORD) ^ mixed((replicate * GOLDEN + 0xBF58476D1CE4E5B9) & WORD))


def resample(strata: list[np.ndarray], resampling: Resampling, replicate: int) -> list[np.ndarray]:
    """As the kernel draws, in plain integers."""
    keys = [int(key) for key in resampling.stream_keys()]
    of_tasks, of_values = start(keys[0], replicate), start(keys[1], replicate)
    drawn = []
    for j in range(len(strata)):
        values = strata[j]
        if resampling.tasks_too:
            of_tasks = (of_tasks + GOLDEN) & WORD
            values = strata[((mixed(of_tasks) >> 32) * len(strata)) >> 32]
        picks: list[int] = []
        while len(picks) < len(values):
            of_values = (of_values + GOLDEN) & WORD
            word = mixed(of_values)
            picks += [((word >> 32) * len(values)) >> 32, ((word & 0xFFFFFFFF) * len(values)) >> 32]
        drawn.append(values[picks[: len(values)]])
    return drawn


@pytest.mark.parametrize("aggregate", ALL, ids=lambda a: a.name)
@pytest.mark.parametrize("scheme", ["stratified", "hierarchical"])
def test_replicates_are_the_aggregate_of_what_is_drawn(aggregate: Aggregate, scheme) -> None:
    strata, resampling = data(), Resampling(40, 9, scheme)
    expected = [aggregate.of(resample(strata, resampling, r)) for r in range(40)]
    assert replicates(strata, aggregate, resampling) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("aggregate", ALL, ids=lambda a: a.name)
def test_the_number_of_threads_changes_no_bit(aggregate: Aggregate) -> None:
    strata = data(1)
    alone = replicates(strata, aggregate, Resampling(101, 3, threads=1))
    for threads in (2, 3, 200):
        assert np.array_equal(alone, replicates(strata, aggregate, Resampling(101, 3, threads=threads)))


def test_more_resamples_begin_with_the_same_ones_and_another_seed_gives_others() -> None:
    strata = data(2)
    few, many = (replicates(strata, MEAN, Resampling(n)) for n in (50, 80))
    assert np.array_equal(few, many[:50])
    assert not np.array_equal(few, replicates(strata, MEAN, Resampling(50, seed=1)))


def test_samples_of_equal_sizes_are_drawn_together_and_a_second_one_apart() -> None:
    strata = data(3)
    doubled = [2 * values for values in strata]
    resampling = Resampling(300)
    assert np.array_equal(2 * replicates(strata, MEAN, resampling), replicates(doubled, MEAN, resampling))
    apart = replicates(strata, MEAN, resampling, second=True)
    assert abs(np.corrcoef(replicates(strata, MEAN, resampling), apart)[0, 1]) < 0.25


def test_a_second_sample_is_drawn_on_the_same_tasks() -> None:
    tasks = [np.full(3, float(j)) for j in range(6)]
    resampling = Resampling(50, scheme="hierarchical")
    first, second = (replicates(tasks, MEAN, resampling, second=second) for second in (False, True))
    assert np.array_equal(first, second)


def test_every_value_is_drawn_equally_often() -> None:
    n, draws = 11, 20_000
    shares = [replicates([np.eye(n)[i]], MEAN, Resampling(draws)).mean() for i in range(n)]
    assert shares == pytest.approx([1 / n] * n, abs=5 * np.sqrt(1 / n / n / draws))


def test_variances_are_those_of_the_bootstrap() -> None:
    values = np.random.default_rng(4).normal(size=30)
    found = replicates([values], MEAN, Resampling(20_000)).var()
    assert found == pytest.approx(values.var() / 30, rel=0.05)


def test_numbers_below_one_are_refused() -> None:
    with pytest.raises(ValueError, match="0 resamples; at least one"):
        Resampling(0)
    with pytest.raises(ValueError, match="0 threads; at least one"):
        Resampling(threads=0)
