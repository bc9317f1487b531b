"""Videos of what an agent did, beside its reference."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from proctor.errors import InputError
from proctor.record.video import VideoWriter, require_video
from proctor.suites.tracking.metrics import Track
from proctor.suites.tracking.rendering import SimulatorOrder, TrackingRenderer, qpos_from
from proctor.suites.tracking.robot import Robot
from proctor.suites.tracking.suite import robot_of
from proctor.training.lent import MotionSource
from proctor.training.options import TrackingEvaluationCfg
from proctor.training.own import LibrarySource
from proctor.training.results import Measured

FASTEST_FPS = 30.0
"""States that come faster than this are thinned: rendering is what a video costs."""


def render_tracking_video(
    path: Path,
    robot: Robot | TrackingRenderer,
    agent_qpos: np.ndarray,
    reference_qpos: np.ndarray | None = None,
    fps: float = 50.0,
) -> bool:
    """Write an mp4 of states `agent_qpos` (T, 7 + J) at `fps` beside `reference_qpos` (R, 7 + J), in real time.

    A reference that ends sooner stays at its last frame; one that is longer is cut. The video ends where the agent's
    states are no longer finite. False, and no file, where there is no state to show. Give a renderer instead of the
    robot to choose size and look, or to write several videos with one."""
    require_video()
    if not (fps > 0 and math.isfinite(fps)):
        raise InputError(f"fps is {fps}; a positive number of states per second was expected")
    agent = _states("agent_qpos", agent_qpos)
    reference = None if reference_qpos is None else _states("reference_qpos", reference_qpos)
    if reference is not None and not len(reference):
        raise InputError("reference_qpos has no frame; leave it out where there is no reference")
    stride = math.ceil(fps / FASTEST_FPS - 1e-9)
    writer = VideoWriter(Path(path), fps / stride)
    own = not isinstance(robot, TrackingRenderer)
    renderer = TrackingRenderer(robot) if not isinstance(robot, TrackingRenderer) else robot
    try:
        for state, target in _pairs(agent[::stride], None if reference is None else reference[::stride]):
            writer.add(renderer.render(state, target))
        return writer.close()
    except BaseException:
        writer.discard()
        raise
    finally:
        if own:
            renderer.close()


def _states(name: str, qpos: np.ndarray) -> np.ndarray:
    states = np.asarray(qpos, np.float64)
    if states.ndim != 2:
        raise InputError(f"{name} has shape {states.shape}; (frames, 7 + joints) was expected")
    return states


def _pairs(agent: np.ndarray, reference: np.ndarray | None) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
    for t, state in enumerate(agent):
        if not np.all(np.isfinite(state)):
            return
        yield state, None if reference is None else reference[min(t, len(reference) - 1)]


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
