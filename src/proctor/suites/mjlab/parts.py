"""The parts of the mjlab room."""

from __future__ import annotations

PARTS = {"proctor.runtimes": {"mjlab": "proctor.suites.mjlab.runtime:MjlabRuntime"}}
