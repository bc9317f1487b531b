"""The parts of the LIBERO room."""

from __future__ import annotations

PARTS = {
    "proctor.suites": {
        "libero": "proctor.suites.libero.suite:LiberoSuite",
    },
}
