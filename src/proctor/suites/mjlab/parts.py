"""The parts of the mjlab room."""

from __future__ import annotations

PARTS = {
    "proctor.suites": {"mjlab": "proctor.suites.mjlab.suite:MjlabSuite"},
    "proctor.runtimes": {"mjlab": "proctor.suites.mjlab.runtime:MjlabRuntime"},
}
