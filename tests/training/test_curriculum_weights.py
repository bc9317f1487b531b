from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor import ConfigError
from proctor.training.curriculum import CurriculumCfg, sampling_weights

DIFFICULTIES = st.lists(st.floats(0.0, 5.0) | st.just(float("nan")) | st.just(float("inf")), min_size=1, max_size=40)
MODES = st.sampled_from(["lin", "exp", "bin"])


@given(DIFFICULTIES, MODES)
def test_weights_are_positive_and_finite_whatever_was_measured(difficulty, mode):
    weights = sampling_weights(np.array(difficulty), CurriculumCfg(mode=mode))
    assert weights.shape == (len(difficulty),)
    assert np.isfinite(weights).all()
    assert (weights > 0).all()


@given(DIFFICULTIES, MODES, st.randoms(use_true_random=False))
def test_order_does_not_matter(difficulty, mode, random):
    order = list(range(len(difficulty)))
    random.shuffle(order)
    values, cfg = np.array(difficulty), CurriculumCfg(mode=mode)
    np.testing.assert_array_equal(sampling_weights(values[order], cfg), sampling_weights(values, cfg)[order])


@given(DIFFICULTIES, st.sampled_from(["lin", "exp"]))
def test_harder_is_never_practised_less(difficulty, mode):
    values = np.sort(np.array(difficulty))
    assert (np.diff(sampling_weights(values, CurriculumCfg(mode=mode))) >= 0).all()


@given(DIFFICULTIES)
def test_every_bin_has_mass_one(difficulty):
    values = np.array(difficulty)
    weights = sampling_weights(values, CurriculumCfg(mode="bin"))
    bins = np.floor(np.clip(np.where(np.isfinite(values), values, 2.0), 0.5, 2.0) * 2.0)
    for which in np.unique(bins):
        assert weights[bins == which].sum() == pytest.approx(1.0)


@given(DIFFICULTIES, st.sampled_from(["lin", "exp"]))
def test_nan_does_not_touch_its_neighbours(difficulty, mode):
    cfg, values = CurriculumCfg(mode=mode), np.array(difficulty)
    with_nan = sampling_weights(np.append(values, np.nan), cfg)
    np.testing.assert_array_equal(with_nan[:-1], sampling_weights(values, cfg))
    assert with_nan[-1] == sampling_weights(np.array([cfg.max_val]), cfg)[0]


def test_published_values():
    np.testing.assert_array_equal(sampling_weights(np.array([0.5, 1.5, 2.0])), [2.0, 8.0, 16.0])
    np.testing.assert_array_equal(sampling_weights(np.array([0.1, 9.0])), [2.0, 16.0])
    np.testing.assert_array_equal(sampling_weights(np.array([0.1, 1.5, 9.0]), CurriculumCfg(mode="lin")), [1, 3, 4])


def test_bins_by_hand():
    difficulty = np.array([0.5, 0.7, 0.9, 1.2, 1.9, 2.5])
    np.testing.assert_allclose(
        sampling_weights(difficulty, CurriculumCfg(mode="bin")), [1 / 3, 1 / 3, 1 / 3, 1.0, 1.0, 1.0]
    )


def test_no_motions_no_weights():
    for mode in ("lin", "exp", "bin"):
        assert sampling_weights(np.zeros(0), CurriculumCfg(mode=mode)).shape == (0,)


def test_a_table_is_refused():
    with pytest.raises(ValueError, match=r"shape \(2, 2\); expected one number per motion"):
        sampling_weights(np.ones((2, 2)))


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"min_val": 3.0}, "min_val is 3.0, above max_val 2.0"),
        ({"mode": "lin", "min_val": 0.0}, "with min_val 0 it is never seen"),
        ({"mode": "quadratic"}, "expected one of lin, exp, bin"),
        ({"scale": 0.0}, "scale: found 0.0; expected more than 0"),
        ({"max_val": float("nan")}, "finite number"),
        ({"maximum": 1.0}, "maximum: unknown key; expected one of max_val"),
    ],
)
def test_bad_options_are_named(keys, text):
    with pytest.raises(ConfigError, match=text):
        CurriculumCfg(**keys)
