"""The parts of the room of served environments."""

from __future__ import annotations

PARTS = {"proctor.suites": {"served": "proctor.suites.served.suite:ServedSuite"}}
