"""The parts of the vla-eval room."""

from __future__ import annotations

PARTS = {
    "proctor.suites": {"vla_eval": "proctor.suites.vla_eval.suite:VlaEvalSuite"},
    "proctor.runtimes": {"vla_eval": "proctor.suites.vla_eval.runtime:VlaEvalRuntime"},
}
