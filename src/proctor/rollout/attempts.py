"""What comes of the attempts at trials. One that broke is tried again, or the trial is given up and recorded as
unscored; one that did not is a result, which waits here for the next transaction of the ledger."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

from proctor.config.models import EvalConfig
from proctor.errors import RunError
from proctor.record.errors import decisive_line
from proctor.record.ledger import Ledger
from proctor.rollout.finishing import named_by_outcome
from proctor.rollout.progress import UNSCORED, Progress
from proctor_host.episode import Outcome
from proctor_host.messages import Adrift
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

MOST_DRIFTS = 8
"""Times, for each slot, that trials have lost their policy on a cluster without any trial ending; then the run ends."""

log = logging.getLogger("proctor")


class Attempts:
    """Of the trials of a run in this folder; `progress` counts what comes of them."""

    def __init__(self, cfg: EvalConfig, folder: Path, ledger: Ledger, progress: Progress):
        self._cfg, self._folder, self._ledger, self._progress = cfg, folder, ledger, progress
        self._broken: dict[str, int] = {}
        self._last: dict[str, tuple[Outcome, str]] = {}
        """How the last attempt of a trial broke that is to be tried again."""
        self.suspects: set[str] = set()
        """Trials of which one has made its policy kill a worker: their policies are asked for them alone."""
        self._drifts: dict[str, int] = {}
        """How often a trial has waited for a replica that was lost."""
        self._fruitless = 0
        """How often any has, since a trial ended."""
        self._results: list[TrialResult] = []

    def recall(self) -> None:
        """Begin with what earlier sessions have done."""
        progress, ledger = self._progress, self._ledger
        progress.planned, progress.done = ledger.counts()
        progress.done_before = progress.done
        for agent, task, outcome, success, n in ledger.outcome_counts():
            progress.count(agent, task, success if outcome.scored else UNSCORED, n)
        self._broken = ledger.attempts()

    def broke(self, trial: Trial, outcome: Outcome, error: str, most_steps: int) -> bool:
        """An attempt broke. Whether the trial is to be tried again; if not, it is unscored."""
        attempt = self._broken[trial.key] = self._broken.get(trial.key, 0) + 1
        self._ledger.add_fault(trial, f"{outcome.value}: {decisive_line(error)}")
        which = (trial.key, trial.seed, attempt)
        log.warning("trial %s (seed %d), attempt %d: %s: %s", *which, outcome.value, error)
        self._last[trial.key] = outcome, error
        if attempt > self._cfg.limits.retries:
            self.give_up(trial, most_steps)
            return False
        self._progress.retried += 1
        return True

    def give_up(self, trial: Trial, most_steps: int) -> None:
        """Nobody tries this trial again: it is recorded as its last attempt broke, and stays open for a later session
        where none did."""
        if last := self._last.get(trial.key):
            outcome, error = last
            result = TrialResult(trial, outcome, False, 0, None, None, most_steps, error=error)
            self._keep(result, self._broken.pop(trial.key, 0))

    def ended(self, result: TrialResult) -> None:
        """A trial has ended and is on disk."""
        self._fruitless = 0
        self._keep(result, self._broken.pop(result.trial.key, 0) + 1)

    def _keep(self, result: TrialResult, attempts: int) -> None:
        trial, progress = result.trial, self._progress
        self._last.pop(trial.key, None)
        self._results.append(replace(named_by_outcome(result, self._folder), attempts=attempts))
        progress.done += 1
        progress.count(trial.agent, trial.task, result.success if result.outcome.scored else UNSCORED)

    def take(self) -> list[TrialResult]:
        """The results that have not been taken yet: they are to be committed."""
        results, self._results = self._results, []
        return results

    def drifted(self, trial: Trial, event: Adrift) -> None:
        """The replica that a trial has asked is gone. Where that has happened to it before, it asks without company
        from now on, so that one that kills its policy is found. Raises RunError where nothing but this happens."""
        drifts = self._drifts[trial.key] = self._drifts.get(trial.key, 0) + event.asked
        log.warning("trial %s starts again: %s", trial.key, event.reason)
        self._progress.adrift += 1
        self._fruitless += 1
        if self._fruitless > MOST_DRIFTS * self._cfg.num_parallel:
            raise RunError(f"policies on the cluster are lost before any trial ends ({event.reason})")
        if drifts > 1 and not event.alone:
            self.suspects.add(trial.key)

    def suspect(self, trial: Trial) -> bool:
        """Have this trial's policy asked for it alone. Whether it was already."""
        before = trial.key in self.suspects
        self.suspects.add(trial.key)
        return before
