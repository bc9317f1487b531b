"""Videos of an evaluation: the worst motions, agent beside reference."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from proctor.suites.tracking.metrics import Track
from proctor.suites.tracking.rendering import SimulatorOrder, TrackingRenderer, qpos_from
from proctor.suites.tracking.robot import Robot
from proctor.suites.tracking.suite import robot_of
from proctor.training.lent import MotionSource
from proctor.training.library_source import LibrarySource
from proctor.training.options import TrackingEvaluationCfg
from proctor.training.results import Measured
from proctor.training.videos import render_tracking_video


def film(cfg: TrackingEvaluationCfg, measured: Sequence[Measured], source: MotionSource, timestep: int) -> list[Path]:
    """One video for each of the motions with the largest `emd` (what could not be measured first), of its first
    episode: `<videos_dir>/<prefix>_<timestep>_<motion>.mp4`. The robot is the motions' own, or for motions of another
    simulator the one that the options name. The paths that were written."""
    robot = source.robot if isinstance(source, LibrarySource) else robot_of(cfg)
    first = {one.motion: one for one in reversed(measured)}
    worst = sorted(first.values(), key=_badness, reverse=True)[: cfg.max_videos]
    written = []
    with TrackingRenderer(robot) as renderer:
        for one in worst:
            path = video_path(cfg, source.names[one.motion], timestep)
            states = _qpos(robot, one.track, source), _qpos(robot, source.track(one.motion), source)
            if render_tracking_video(path, renderer, *states, fps=1.0 / source.dt_s):
                written.append(path)
    return written


def video_path(cfg: TrackingEvaluationCfg, motion: str, timestep: int) -> Path:
    """Where the video of a motion goes; what a file name cannot have becomes `_`."""
    plain = re.sub(r"[^\w.@-]+", "_", motion)
    return Path(cfg.videos_dir) / f"{cfg.video_name_prefix}_{timestep}_{plain}.mp4"


def _badness(one: Measured) -> float:
    emd = one.values.get("emd")
    return math.inf if emd is None or math.isnan(emd) else emd


def _qpos(robot: Robot, track: Track, source: MotionSource) -> np.ndarray:
    assert track.root_pos is not None
    assert track.root_quat is not None
    assert track.joint_pos is not None
    order = SimulatorOrder("wxyz", tuple(source.joint_names))
    return qpos_from(robot, track.root_pos, track.root_quat, track.joint_pos, order)
