"""The parts of the soccer room."""

from __future__ import annotations

PARTS = {
    "proctor.suites": {"soccer": "proctor.suites.soccer.suite:SoccerSuite"},
    "proctor.loaders": {
        "soccer/stand": "proctor.suites.soccer.loaders:StandLoader",
        "soccer/submission": "proctor.suites.soccer.loaders.submission:SubmissionLoader",
    },
    "proctor.metric_families": {"terms": "proctor.suites.soccer.metrics:LastTerms"},
    "proctor.scorings": {"terminal": "proctor.suites.soccer.scoring.terminal:TerminalScoring"},
    "proctor.sections": {"terms": "proctor.suites.soccer.report.section:Terms"},
    "proctor.runtimes": {"soccer": "proctor.suites.soccer.runtime:SoccerRuntime"},
}
