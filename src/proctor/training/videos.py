"""Videos of what an agent did, beside its reference."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from proctor.errors import InputError
from proctor.record.video import VideoWriter, require_video
from proctor.suites.tracking.rendering import TrackingRenderer

if TYPE_CHECKING:
    from proctor.suites.tracking.robot import Robot

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
