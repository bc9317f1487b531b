"""Cohen's kappa: laws, values by hand, and its standard error against a jackknife."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.stats.agreement import cohens_kappa

answers = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30).map(np.array)


def counted(both: int, only_a: int, only_b: int, neither: int) -> tuple[np.ndarray, np.ndarray]:
    pairs = [(1, 1)] * both + [(1, 0)] * only_a + [(0, 1)] * only_b + [(0, 0)] * neither
    return np.array(pairs, dtype=bool)[:, 0], np.array(pairs, dtype=bool)[:, 1]


def test_by_hand() -> None:
    """The textbook's 20, 5, 10, 15: seen 0.7, by chance 0.5."""
    found = cohens_kappa(*counted(20, 5, 10, 15))
    assert (found.n, found.agreed) == (50, 35)
    assert found.kappa == pytest.approx(0.4)
    assert found.interval is not None
    assert found.interval.low < 0.4 < found.interval.high


@given(answers)
def test_the_order_of_raters_things_and_answers_does_not_matter(pairs: np.ndarray) -> None:
    a, b = pairs.T
    found = cohens_kappa(a, b)
    for again in (cohens_kappa(b, a), cohens_kappa(a[::-1], b[::-1]), cohens_kappa(~a, ~b)):
        assert (again.n, again.agreed, again.kappa) == (found.n, found.agreed, pytest.approx(found.kappa))
        assert (again.interval is None) == (found.interval is None)


@given(answers)
def test_a_rater_agrees_with_itself_fully_or_nothing_is_known(pairs: np.ndarray) -> None:
    found = cohens_kappa(pairs[:, 0], pairs[:, 0])
    assert found.kappa == (None if np.ptp(pairs[:, 0].astype(int)) == 0 else pytest.approx(1))
    assert found.interval is None


def test_independent_answers_agree_by_chance() -> None:
    rng = np.random.default_rng(0)
    found = cohens_kappa(rng.random(4000) < 0.7, rng.random(4000) < 0.4)
    assert found.interval is not None
    assert found.interval.low < 0 < found.interval.high


def test_the_interval_has_the_width_of_the_jackknife() -> None:
    a, b = counted(90, 25, 15, 70)
    found = cohens_kappa(a, b)
    without = [cohens_kappa(np.delete(a, i), np.delete(b, i)).kappa for i in range(len(a))]
    error = np.sqrt((len(a) - 1) * np.var(np.array(without, dtype=float)))
    assert found.interval is not None
    assert found.interval.width / (2 * 1.959964) == pytest.approx(error, rel=0.02)


def test_raters_answer_for_the_same_things() -> None:
    assert cohens_kappa(np.array([]), np.array([])).kappa is None
    with pytest.raises(ValueError, match="3 answers against 2"):
        cohens_kappa(np.ones(3), np.ones(2))
