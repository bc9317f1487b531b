"""The parts of the LeRobot room."""

from __future__ import annotations

PARTS = {
    "proctor.loaders": {"lerobot": "proctor.suites.lerobot.loaders:LeRobotLoader"},
    "proctor.runtimes": {"lerobot": "proctor.suites.lerobot.runtime:LeRobotRuntime"},
}
