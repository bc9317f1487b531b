"""Which moments of a tracking trial are drawn."""

from __future__ import annotations

import numpy as np
import pytest
from drawing import needs_frames
from tracking_episodes import episode

from proctor.errors import InputError
from proctor.suites.tracking.metrics.track import Track, TrackOptions
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.portraits import TrackingPortrayer, worst_frame

UPRIGHT, LYING = (1.0, 0.0, 0.0, 0.0), (0.7071068, 0.0, 0.7071068, 0.0)
OPTIONS, ALL = TrackOptions(dt_s=0.02), np.arange(10)


def track(height: float = 0.8, turned: tuple[float, ...] = UPRIGHT, bodies: float = 0.0, n: int = 10) -> Track:
    return Track(
        joint_pos=np.zeros((n, 3)),
        body_pos=np.full((n, 4, 3), bodies),
        root_pos=np.tile((0.0, 0.0, height), (n, 1)),
        anchor_quat=np.tile(turned, (n, 1)),
    )


def test_the_first_fall_is_the_worst_moment() -> None:
    agent, reference = track(bodies=1.0), track()
    assert agent.anchor_quat is not None
    agent.anchor_quat[6:] = LYING
    assert worst_frame(agent, reference, OPTIONS, ALL) == (6, "first fall")
    assert worst_frame(agent, reference, OPTIONS, ALL[:5])[1] != "first fall", "only the frames that can be drawn"


def test_without_a_fall_it_is_the_largest_error() -> None:
    agent, reference = track(), track()
    assert agent.body_pos is not None
    agent.body_pos[3, :, 0] = 0.25
    assert worst_frame(agent, reference, OPTIONS, ALL) == (3, "largest mean body error, 0.25 m")
    agent = Track(joint_pos=np.zeros((10, 3)))
    assert agent.joint_pos is not None
    agent.joint_pos[8] = 0.5
    assert worst_frame(agent, Track(joint_pos=np.zeros((10, 3))), OPTIONS, ALL) == (
        8,
        "largest mean joint error, 0.5 rad",
    )


def test_a_record_without_states_is_refused_with_the_reason() -> None:
    needs_frames()
    drawer = TrackingPortrayer(TrackingOptions(motions=["procedural:wave"]))
    arrays = dict(episode(0.1, frames=20).arrays)
    arrays.pop("root_quat", None)
    with pytest.raises(InputError, match="the record has no root_quat"):
        drawer.moments(arrays)
    drawer.close()
