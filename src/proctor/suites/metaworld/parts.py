"""The parts of the Meta-World room."""

from __future__ import annotations

PARTS = {
    "proctor.suites": {"metaworld": "proctor.suites.metaworld.suite:MetaworldSuite"},
    "proctor.loaders": {
        "metaworld/expert": "proctor.suites.metaworld.loaders:MetaworldExpertLoader",
        "waypoint_flow": "proctor.suites.metaworld.waypoint_flow.loader:WaypointFlowLoader",
    },
    "proctor.runtimes": {"metaworld": "proctor.suites.metaworld.runtime:MetaworldRuntime"},
}
