"""The parts of the LIBERO room."""

from __future__ import annotations

PARTS = {
    "proctor.suites": {
        "libero": "proctor.suites.libero.suite:LiberoSuite",
    },
    "proctor.forms": {
        "libero": "proctor.suites.libero.forms:ParallelForm",
    },
    "proctor.runtimes": {"libero": "proctor.suites.libero.runtime:LiberoRuntime"},
}
