from __future__ import annotations

import logging

import numpy as np
import pytest

from proctor.errors import InputError
from proctor.training.curriculum import Curriculum, CurriculumCfg


class Library:
    names = ("walk", "squat", "kick")

    def __init__(self):
        self.weights = np.ones(3)

    def update_sampling_weights(self, weights):
        self.weights = weights


class Buffer:
    names = ("kick", "walk", "squat")

    def update_priorities(self, priorities, idxs):
        self.priorities, self.idxs = priorities, idxs


def emd(**by_name):
    return {name: {"emd": value, "motion_id": i} for i, (name, value) in enumerate(by_name.items())}


def test_library_and_buffer_get_the_same_weights_each_in_its_own_order():
    library, buffer = Library(), Buffer()
    update = Curriculum().update(emd(kick=2.0, walk=0.5, squat=1.5), library, buffer)
    np.testing.assert_array_equal(library.weights, [2.0, 8.0, 16.0])
    np.testing.assert_array_equal(buffer.priorities, [16.0, 2.0, 8.0])
    np.testing.assert_array_equal(buffer.idxs, [0, 1, 2])
    assert update.weights == {"walk": 2.0, "squat": 8.0, "kick": 16.0}
    assert update.shares["kick"] == pytest.approx(16 / 26)
    assert update.unmeasured == ()


def test_nan_and_missing_motions_count_as_the_hardest_and_are_reported(caplog):
    library = Library()
    with caplog.at_level(logging.WARNING, "proctor.training.curriculum"):
        update = Curriculum().update(emd(walk=0.5, squat=float("nan")), library)
    np.testing.assert_array_equal(library.weights, [2.0, 16.0, 16.0])
    assert update.unmeasured == ("squat", "kick")
    assert "emd is not a number for squat, kick: counted as the hardest" in caplog.text


def test_a_buffer_alone():
    buffer = Buffer()
    Curriculum().update(emd(walk=0.5, squat=1.5, kick=2.0), buffer=buffer)
    np.testing.assert_array_equal(buffer.priorities, [16.0, 2.0, 8.0])


def test_another_metric():
    metrics = {"walk": {"emd": 1.0, "distance": 2.0}, "squat": {"emd": 2.0, "distance": 0.5}}
    update = Curriculum(CurriculumCfg(metric="distance")).weights(metrics)
    assert update.weights == {"walk": 16.0, "squat": 2.0}


@pytest.mark.parametrize(
    ("metrics", "text"),
    [
        ({}, "metrics of no motion"),
        (emd(wolk=1.0), 'the metrics are of "wolk", which the motion library does not have; did you mean "walk"?'),
        ({"walk": {"emd_xpos": 1.0}}, 'no motion has the metric "emd"; did you mean "emd_xpos"?'),
    ],
)
def test_what_cannot_be_used_changes_nothing(metrics, text):
    library = Library()
    with pytest.raises(InputError) as error:
        Curriculum().update(metrics, library)
    assert text in str(error.value)
    np.testing.assert_array_equal(library.weights, np.ones(3))
