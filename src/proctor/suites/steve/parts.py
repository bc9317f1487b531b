"""The parts of the stEVE room."""

from __future__ import annotations

PARTS = {
    "proctor.suites": {
        "steve": "proctor.suites.steve.suite:SteveSuite",
    },
    "proctor.loaders": {"everl": "proctor.suites.steve.loaders:EveRLLoader"},
    "proctor.runtimes": {"steve": "proctor.suites.steve.runtime:SteveRuntime"},
}
