"""The verdict of a run, comparisons and leaderboards: made by the same code as `proctor report`, `compare` and
`leaderboard`, and kept until the runs change.

A run that is done has its report in its folder; that one is shown. Any other is computed of the trials there are, and
nothing is written; of a run that goes on not again for two hundred times as long as that took.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from proctor.errors import InputError
from proctor.record.opening import reading_only
from proctor.report.compare.page import CompareReport
from proctor.report.compare.page import to_html as comparison_html
from proctor.report.formats.json_file import to_json
from proctor.report.formats.pages import to_html as report_html
from proctor.report.leaderboard.page import to_html as leaderboard_html
from proctor.runs.report import read_report
from proctor.verdict.comparison.compare import compare
from proctor.verdict.leaderboard import leaderboard
from proctor.view.snapshot import SHARE, Snapshot, fresh_report, signature_of
from proctor.view.states import is_running

KEPT = 16
NOT_TRUSTED = (
    "This run is scored by code of its own, which the viewer does not import, and its folder has no report that is up "
    "to date. Write one with: proctor report {0}; or start the viewer with --trust where you know who wrote that code."
)


class Pages:
    """One is made at a time; the last ones are kept."""

    def __init__(self, *, trust: bool):
        self._trust = trust
        self._kept: OrderedDict[Any, Any] = OrderedDict()
        self._lock = threading.Lock()
        self._last: dict[Path, tuple[float, tuple[dict[str, Any], str]]] = {}
        """Of runs that go on: until when the last report is good enough, and the report."""

    def report(self, snapshot: Snapshot) -> dict[str, Any]:
        """What the report of a run says, as in `report.json`. Raises InputError where it cannot be had."""
        fresh = fresh_report(snapshot)
        return fresh if fresh is not None else self._drawn(snapshot)[0]

    def report_html(self, snapshot: Snapshot) -> str | Path:
        """The page of a run's report: the file where it is up to date."""
        path = snapshot.path / "report.html"
        if fresh_report(snapshot) is not None and path.is_file() and not path.is_symlink():
            return path
        return self._drawn(snapshot)[1]

    def _drawn(self, snapshot: Snapshot) -> tuple[dict[str, Any], str]:
        if not snapshot.scored:
            raise InputError(NOT_TRUSTED.format(snapshot.path))

        def make() -> tuple[dict[str, Any], str]:
            report, _ = read_report(snapshot.run)
            return to_json(report), report_html(report)

        last = self._last.get(snapshot.path)
        if last is not None and time.monotonic() < last[0] and is_running(snapshot.path):
            return last[1]
        began = time.monotonic()
        made = self._once(("report", snapshot.path, snapshot.signature), make)
        now = time.monotonic()
        self._last[snapshot.path] = now + (now - began) / SHARE, made
        return made

    def comparison(self, paths: Sequence[Path], *, across: bool) -> str:
        """The page of `proctor compare` for these runs."""

        def make() -> str:
            found = compare(paths, across=across, trust=self._trust)
            return comparison_html(
                CompareReport(
                    name=" and ".join(dict.fromkeys(run.cfg.name for run in found.runs)),
                    comparison=found.comparison,
                    runs={run.label: run.described() for run in found.runs},
                    cautions=found.cautions,
                    gates=[],
                    failed=None,
                    generated_at=_now(),
                )
            )

        return self._once(("compare", across, *_signed(paths)), make)

    def leaderboard(self, paths: Sequence[Path]) -> str:
        """The page of `proctor leaderboard` for these runs."""

        def make() -> str:
            return leaderboard_html(leaderboard(paths, 0.95, {}, trust=self._trust), _now())

        return self._once(("leaderboard", *_signed(paths)), make)

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        with self._lock:
            if key not in self._kept:
                with reading_only():
                    self._kept[key] = make()
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return self._kept[key]


def _signed(paths: Sequence[Path]) -> list[Any]:
    return [(path, signature_of(path)) for path in paths]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
