"""A library gathers frames of many motions at once and samples motions by weight."""

from __future__ import annotations

import numpy as np
import pytest
from robots import g1

from proctor.errors import InputError
from proctor.suites.tracking.motions import MotionLibrary, load_motions
from proctor.suites.tracking.motions.motion import ARRAYS


@pytest.fixture(scope="module")
def references():
    library = load_motions(["procedural:bow", "procedural:squat", "procedural:reach"], g1())
    return [library.reference(i) for i in range(3)]


@pytest.fixture
def library(references):
    return MotionLibrary(references)


def test_references_come_back_as_they_were(library, references):
    assert (len(library), library.names) == (3, ("bow", "squat", "reach"))
    for i, expected in enumerate(references):
        found = library.reference(i)
        assert (found.name, found.dt_s, len(found)) == (expected.name, 0.02, library.lengths[i])
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert library.reference(-1).name == "reach"
    with pytest.raises(IndexError, match="no motion 3: the library has 3"):
        library.reference(3)


def test_gathering_equals_looking_up_one_by_one(library):
    rng = np.random.default_rng(0)
    motions = rng.integers(0, 3, 50)
    frames = rng.integers(0, library.lengths[motions])
    found = library.gather(motions, frames)
    for n in range(50):
        reference = library.reference(motions[n])
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(found, name)[n], getattr(reference, name)[frames[n]])


def test_frames_beyond_the_ends_are_the_nearest(library):
    found = library.gather(np.array([1, 1]), np.array([-5, 10_000]))
    np.testing.assert_array_equal(found.qpos, library.reference(1).qpos[[0, -1]])


def test_a_window_of_frames_can_be_gathered(library):
    found = library.gather(np.array([[0], [2]]), np.arange(4)[None] + np.array([[10], [20]]))
    assert found.body_pos.shape == (2, 4, len(g1().body_names), 3)
    np.testing.assert_array_equal(found.qpos[1], library.reference(2).qpos[20:24])


def test_motions_are_sampled_by_weight(library):
    library.update_sampling_weights([1.0, 0.0, 3.0])
    drawn = library.sample(20_000, np.random.default_rng(0))
    counts = np.bincount(drawn, minlength=3) / 20_000
    np.testing.assert_allclose(counts, [0.25, 0, 0.75], atol=0.02)
    assert drawn.dtype == np.int64


def test_sampling_depends_on_the_generator_alone(library):
    first, second = (library.sample(30, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_weights_are_changed_by_name_or_all_at_once(library):
    np.testing.assert_array_equal(library.sampling_weights, [1, 1, 1])
    library.update_sampling_weights({"squat": 5})
    np.testing.assert_array_equal(library.sampling_weights, [1, 5, 1])
    library.sampling_weights[0] = 9
    np.testing.assert_array_equal(library.sampling_weights, [1, 5, 1])


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        ({"bow": 2, "sqat": 1}, 'no motion "sqat"; did you mean "squat"? (3 motions are loaded)'),
        ([1, 2], "sampling weights: found shape (2,), expected (3,)"),
        ([1, np.nan, -1], "must be finite and not negative; found squat: nan, reach: -1.0"),
        ([0, 0, 0], "must not all be zero"),
    ],
)
def test_wrong_weights_change_nothing(library, weights, text):
    with pytest.raises(InputError) as error:
        library.update_sampling_weights(weights)
    assert text in str(error.value)
    np.testing.assert_array_equal(library.sampling_weights, [1, 1, 1])


def test_the_state_is_restored(library, references):
    library.update_sampling_weights([1, 2, 3])
    state = library.state()
    library.update_sampling_weights([3, 2, 1])
    library.restore(state)
    np.testing.assert_array_equal(library.sampling_weights, [1, 2, 3])
    with pytest.raises(InputError, match="the state is of a library of 3 other motions; this one has 2"):
        MotionLibrary(references[:2]).restore(state)


def test_libraries_that_cannot_be(references):
    with pytest.raises(InputError, match="two motions have one name: bow"):
        MotionLibrary([references[0], references[0]])
    slow = load_motions("procedural:squat", g1(), dt_s=0.04).reference(0)
    with pytest.raises(InputError, match="must have one rate"):
        MotionLibrary([references[0], slow])
