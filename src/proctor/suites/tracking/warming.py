"""Calls every kernel of the tracking worlds once, so that it is compiled."""

from __future__ import annotations

from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.suite import TrackingSuite


def warm() -> None:
    options = TrackingOptions(motions=["procedural:wave"], threads=1, terminate={"far_m": 1.0})  # pyright: ignore[reportArgumentType]
    env = TrackingSuite().make(options, render=False, worlds=2)
    env.reset([0, 1], [0, 1], [0, 0])
    env.step({0: env.dummy_action()})
    env.step({0: env.dummy_action(), 1: env.dummy_action()})
    env.close()
