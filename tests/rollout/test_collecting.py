from __future__ import annotations

import gc

import pytest

from proctor_host.collecting import THRESHOLDS, collecting_seldom


@pytest.fixture
def thresholds():
    before = gc.get_threshold()
    yield gc.set_threshold
    gc.set_threshold(*before)


def test_garbage_is_looked_for_seldom_and_afterwards_as_before(thresholds) -> None:
    thresholds(700, 10, 10)
    with collecting_seldom():
        assert gc.get_threshold() == THRESHOLDS
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("tamed", [(0, 10, 10), (50_000, 5, 5)])
def test_what_the_caller_has_tamed_stays_so(thresholds, tamed) -> None:
    thresholds(*tamed)
    with collecting_seldom():
        assert gc.get_threshold() == tamed
    assert gc.get_threshold() == tamed
