"""Motion tracking: a humanoid is shown a reference motion and measured on how closely it follows.

`robot/` says what the robot is, `motions/` what it should do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proctor.exports import lazily

if TYPE_CHECKING:
    from proctor.suites.tracking.metrics import (
        Track,
        TrackOptions,
        by_motion,
        evaluate_tracks,
        summarize,
        tracking_metrics,
    )
    from proctor.suites.tracking.robot import load_robot
    from proctor.suites.tracking.suite import load_task, make
    from proctor.suites.tracking.tasks import PostureReader, task_reward
    from proctor.suites.tracking.trajectories import TrajectoryBuffer

__getattr__ = lazily(__name__, __file__)

__all__ = [
    "PostureReader", "Track", "TrackOptions", "TrajectoryBuffer", "by_motion", "evaluate_tracks", "load_robot",
    "load_task", "make", "summarize", "task_reward", "tracking_metrics",
]  # fmt: skip
