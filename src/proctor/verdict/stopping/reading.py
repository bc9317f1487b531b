"""What a test reads of a finished trial: whether it succeeded, or its score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proctor.config.models import EvalConfig
from proctor.record.ledger import Ledger
from proctor.scoring import make_scoring
from proctor.verdict.stopping.watch import Seen
from proctor_host.result import TrialResult


class Reader:
    """Makes of results what the test of a config's `stop_when` reads."""

    def __init__(self, cfg: EvalConfig):
        scored = cfg.stop_when is not None and cfg.stop_when.on == "score"
        self._scoring = make_scoring(cfg.scoring) if scored else None

    def of_ledger(self, ledger: Ledger) -> Iterator[Seen]:
        """Every finished trial."""
        return ledger.successes() if self._scoring is None else self.of_results(ledger.results())

    def of_results(self, results: Iterable[TrialResult]) -> Iterator[Seen]:
        for result in results:
            trial = result.trial
            yield trial.agent, trial.task, trial.index, self._value(result)

    def _value(self, result: TrialResult) -> float | None:
        if self._scoring is not None:
            return self._scoring.score(result).total
        return bool(result.success) if result.outcome.scored else None
