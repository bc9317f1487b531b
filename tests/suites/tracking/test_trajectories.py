"""Expert trajectories: packed motions, slices within one motion, priorities."""

from __future__ import annotations

import numpy as np
import pytest
from tracking_worlds import g1, short_motions

from proctor.errors import InputError
from proctor.suites.tracking.observations import reference_observations
from proctor.suites.tracking.trajectories import TrajectoryBuffer


def buffer(seq_length: int = 4, **keys) -> TrajectoryBuffer:
    return TrajectoryBuffer(g1(), short_motions(), seq_length, **keys)


def test_motions_are_packed_one_after_the_other_as_observations():
    b, library = buffer(), short_motions()
    assert len(b) == 3
    assert b.motion_id.tolist() == [0] * 20 + [1] * 30 + [2] * 12
    assert np.flatnonzero(b.truncated).tolist() == [19, 49, 61]
    assert not b.terminated.any()
    assert not b.observation["last_action"].any()
    for i in range(3):
        expected = reference_observations(g1(), library.reference(i))
        rows = slice(b.offsets[i], b.offsets[i + 1])
        for group, array in expected.items():
            np.testing.assert_allclose(b.observation[group][rows], array, rtol=1e-6, atol=1e-6)


def test_velocities_may_be_scaled():
    plain, still = buffer(), buffer(velocity_multiplier=0.0)
    np.testing.assert_array_equal(still.observation["state"][:, 29:58], 0)
    np.testing.assert_array_equal(still.observation["state"][:, :29], plain.observation["state"][:, :29])


def test_a_slice_is_successive_frames_of_one_motion():
    b = buffer(seq_length=5)
    drawn = b.sample(300, np.random.default_rng(0))
    assert drawn.observation["state"].shape == (300, 5, 64)
    assert drawn.observation["privileged_state"].shape == (300, 5, 463)
    assert drawn.observation["last_action"].shape == (300, 5, 29)
    assert drawn.valid.all()
    assert (drawn.motion_id == drawn.motion_id[:, :1]).all()
    frames = {row.tobytes(): i for i, row in enumerate(b.observation["privileged_state"])}
    where = np.array([[frames[row.tobytes()] for row in one] for one in drawn.observation["privileged_state"]])
    assert (np.diff(where, axis=1) == 1).all()
    assert not drawn.truncated[:, :-1].any()
    starts = {(int(m), int(w - b.offsets[m])) for m, w in zip(drawn.motion_id[:, 0], where[:, 0], strict=True)}
    assert {start for motion, start in starts if motion == 2} == set(range(12 - 5 + 1))


def test_a_motion_shorter_than_a_slice_is_continued_with_its_last_frame():
    b = buffer(seq_length=15)
    b.update_priorities({"squat": 0, "wave": 0})
    drawn = b.sample(3, np.random.default_rng(0))
    assert drawn.valid.tolist() == [[True] * 12 + [False] * 3] * 3
    whole = b.observation["state"][b.offsets[2] :]
    np.testing.assert_array_equal(drawn.observation["state"], [np.concatenate([whole, whole[-1:].repeat(3, 0)])] * 3)
    assert drawn.truncated.tolist() == [[False] * 11 + [True] * 4] * 3


def test_the_generator_decides():
    b = buffer()
    one, same, other = (b.sample(20, np.random.default_rng(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.observation["state"], same.observation["state"])
    assert (one.observation["state"] != other.observation["state"]).any()


def test_motions_come_in_proportion_to_their_priorities():
    b = buffer()
    b.update_priorities([1.0, 3.0, 0.0])
    drawn = b.sample(4000, np.random.default_rng(0)).motion_id[:, 0]
    counts = np.bincount(drawn, minlength=3)
    assert counts[2] == 0
    assert counts[1] / counts[0] == pytest.approx(3, rel=0.15)
    b.update_priorities(np.array([5.0]), np.array([2]))
    assert b.priorities.tolist() == [1, 3, 5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0],), "priorities: found shape (2,), expected (3,): one for each motion"),
        (([1.0], [3]), "there are 3 motions; found the indices [3]"),
        (({"jump": 1.0},), 'no motion "jump" (3 motions are loaded)'),
        (([1.0, np.nan, 1.0],), "priorities must be finite"),
        (([1.0, -1.0, 1.0],), "not negative"),
        (([0.0, 0.0, 0.0],), "not all be zero"),
    ],
)
def test_wrong_priorities_change_nothing(arguments, message):
    b = buffer()
    with pytest.raises(InputError) as refused:
        b.update_priorities(*arguments)
    assert message in str(refused.value)
    assert b.priorities.tolist() == [1, 1, 1]


def test_a_slice_has_a_frame():
    with pytest.raises(InputError, match="seq_length is 0; a slice needs at least one frame"):
        buffer(seq_length=0)
