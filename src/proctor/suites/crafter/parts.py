"""The parts of the Crafter room."""

from __future__ import annotations

PARTS = {
    "proctor.suites": {"crafter": "proctor.suites.crafter.suite:CrafterSuite"},
    "proctor.loaders": {"crafter/expert": "proctor.suites.crafter.loaders:CrafterExpertLoader"},
    "proctor.runtimes": {"crafter": "proctor.suites.crafter.runtime:CrafterRuntime"},
}
