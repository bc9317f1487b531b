"""A run's numbers on their way to its loggers.

Now and then, and once at the end: how many trials are done, and for each agent the success rate and the score so far.
At the very end also what the report says. Loggers are guests: one that raises is switched off with one line in
`run.log`, and all of them together get at most a small share of the run's time.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from proctor.config import EvalConfig
from proctor.errors import BREAKS, InputError
from proctor.record.rundir import RunDir
from proctor.registry import LOGGERS
from proctor.rollout.progress import Observer, Progress
from proctor.runs.loggers.base import Logger
from proctor.verdict.trials import read_agents

EVERY_S = 10.0
"""Seconds between two logs of a run's progress."""
SHARE = 0.05
"""The most of a run's time that logging may take: a log that took long puts off the next one."""

log = logging.getLogger("proctor")


class RunLogs:
    """The loggers of one session of a run; a context manager. Entering it opens them, and raises InputError for what
    the user can mend; leaving it closes them."""

    def __init__(self, run: RunDir, cfg: EvalConfig):
        self._run, self._cfg = run, cfg
        self._loggers: dict[str, Logger] = {}
        self._due = time.monotonic() + EVERY_S
        self.notes: list[str] = []
        """A sentence for each logger that raised."""

    def __enter__(self) -> RunLogs:
        for number, entry in enumerate(self._cfg.loggers):
            try:
                kind = LOGGERS.find(entry.kind)
                options = kind.Options.model_validate(entry.options)
                self._loggers[f"{entry.kind} (loggers[{number}])"] = kind.for_run(options, self._run.path)
            except InputError:
                self.__exit__()
                raise
            except BREAKS as error:
                self._note(f"the logger {entry.kind} could not be opened and is left out: {_said(error)}")
        config = self._cfg.model_dump(mode="json")
        self._each(lambda logger: logger.begin(config))
        return self

    def __exit__(self, *exc: object) -> None:
        self._each(lambda logger: logger.close())
        self._loggers.clear()

    def ahead_of(self, observer: Observer | None) -> Observer | None:
        """What an engine is to call with its progress: the loggers, then `observer`."""
        if not self._loggers:
            return observer

        def both(progress: Progress) -> None:
            if time.monotonic() >= self._due:
                self._log_progress(progress)
            if observer is not None:
                observer(progress)

        return both

    def end(self, progress: Progress, report: Mapping[str, Any] | None) -> None:
        """The last numbers of the session; `report` is None where nothing has been scored."""
        if not self._loggers:
            return
        self._log_progress(progress)
        if report is not None:
            values = report_values(report)
            self._each(lambda logger: logger.log(values, progress.done))
            self._each(lambda logger: logger.end(report))

    def _log_progress(self, progress: Progress) -> None:
        began = time.monotonic()
        values = {**progress_values(progress), **self._scores()}
        self._each(lambda logger: logger.log(values, progress.done))
        now = time.monotonic()
        self._due = now + max(EVERY_S, (now - began) / SHARE)

    def _scores(self) -> dict[str, float]:
        """The mean score of each agent so far. A scoring that raises is for the report to tell of."""
        try:
            with self._run.ledger() as ledger:
                agents = read_agents(ledger, self._cfg, [task.name for task in self._cfg.tasks])
        except BREAKS as error:
            log.warning("no scores are logged: %r", error)
            return {}
        found = {agent.name: agent.scores() for agent in agents}
        return {
            f"progress/{name}/score": float(np.nanmean(scores))
            for name, scores in found.items()
            if not np.isnan(scores).all()
        }

    def _each(self, call: Callable[[Logger], None]) -> None:
        """Call every logger that is left, and switch off those that raise."""
        for name, logger in list(self._loggers.items()):
            try:
                call(logger)
            except BREAKS as error:
                self._note(f"the logger {name} raised {_said(error)} and is switched off; the run is not affected")
                del self._loggers[name]

    def _note(self, text: str) -> None:
        log.warning(text)
        self.notes.append(text)


def _said(error: BaseException) -> str:
    """What was raised, in one line of bounded length."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def progress_values(progress: Progress) -> dict[str, float]:
    """The numbers of a run's progress, by the names that loggers get."""
    values = {
        "progress/trials_done": float(progress.done),
        "progress/trials_planned": float(progress.planned),
        "progress/trials_unscored": float(progress.unscored),
    }
    for name, agent in progress.agents.items():
        values[f"progress/{name}/trials_scored"] = float(agent.scored)
        rate = progress.success_rate(name)
        values |= {} if rate is None else {f"progress/{name}/success_rate": rate}
    return values


def report_values(report: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of each agent in a report, by the names that loggers get."""
    values: dict[str, float | None] = {}
    for agent in report["agents"]:
        start = f"report/{agent['agent']}"
        values |= {f"{start}/trials_scored": agent["n"], f"{start}/success_rate": agent["success_rate"]}
        values |= {f"{start}/score": agent["score_mean"], f"{start}/score#std": agent["score_std"]}
        values |= {f"{start}/{name}": found["value"] for name, found in agent["metrics"].items()}
    return {key: float(value) for key, value in values.items() if value is not None}
