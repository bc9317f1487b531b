"""The parts of the Gymnasium room."""

from __future__ import annotations

PARTS = {
    "proctor.suites": {"gymnasium": "proctor.suites.gymnasium.suite:GymnasiumSuite"},
    "proctor.runtimes": {"gymnasium": "proctor.suites.gymnasium.runtime:GymnasiumRuntime"},
}
