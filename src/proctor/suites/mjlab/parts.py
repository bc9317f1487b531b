"""The parts of the mjlab room."""

from __future__ import annotations

PARTS = {
    "proctor.suites": {"mjlab": "proctor.suites.mjlab.suite:MjlabSuite"},
    "proctor.loaders": {"mjlab/rsl_rl": "proctor.suites.mjlab.loaders.rsl_rl:RslRlLoader"},
    "proctor.runtimes": {"mjlab": "proctor.suites.mjlab.runtime:MjlabRuntime"},
}
