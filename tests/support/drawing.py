"""Whether frames can be drawn here: tests that need them ask first."""

from __future__ import annotations

import functools

import pytest

from proctor.suites.offscreen import RenderingUnavailable
from proctor.suites.tracking.rendering import TrackingRenderer
from proctor.suites.tracking.robot import Robot, load_robot


@functools.cache
def built_in_robot() -> Robot:
    """The built-in G1, made once."""
    return load_robot("builtin:g1")


def needs_frames() -> None:
    """Skip the test, with the reason, where nothing can be drawn."""
    reason = _reason()
    if reason is not None:
        pytest.skip(reason)


@functools.cache
def _reason() -> str | None:
    robot = built_in_robot()
    try:
        with TrackingRenderer(robot, 32, 32) as renderer:
            renderer.render(robot.default_qpos)
    except RenderingUnavailable as error:
        return str(error)
    return None
