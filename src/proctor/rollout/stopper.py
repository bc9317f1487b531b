"""Between an engine and the `stop_when` of its config."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proctor.config.models import EvalConfig
from proctor.record.ledger import Ledger
from proctor.verdict.stopping import Reader, Seen, Stop, Stopping
from proctor_host.result import TrialResult

Key = tuple[str, str, int]


class Stopper:
    """Knows which trials are not needed any more. What a ledger holds already is read at once; without a `stop_when`
    every trial is needed."""

    def __init__(self, cfg: EvalConfig, ledger: Ledger):
        self._ledger = ledger
        self._stopping = None if cfg.stop_when is None else Stopping(cfg)
        self._reader = Reader(cfg)
        if self._stopping is not None:
            self._stopping.add(self._new(self._reader.of_ledger(ledger)))

    def needed(self, pending: set[Key]) -> set[Key]:
        """Of these (agent, task, index), those whose agent is not settled."""
        settled = frozenset() if self._stopping is None else self._stopping.settled
        return {key for key in pending if key[0] not in settled} if settled else pending

    def spared(self) -> int:
        """How many planned trials will not be run."""
        if self._stopping is None or not self._stopping.settled:
            return 0
        pending = self._ledger.pending()
        return len(pending) - len(self.needed(pending))

    def read(self, results: Iterable[TrialResult]) -> set[str]:
        """Agents that these results have settled."""
        if self._stopping is None:
            return set()
        return self._stopping.add(self._new(self._reader.of_results(results)))

    def _new(self, seen: Iterable[Seen]) -> Iterator[Seen]:
        """Where a task has a few initial states, further trials that begin there tell the test nothing: they are passed
        over like unscored ones."""
        states = self._ledger.initial_states()
        for agent, task, index, value in seen:
            yield agent, task, index, None if index >= states.get(task, index + 1) else value

    def mark(self) -> None:
        """Mark the finished trials that came after a stop."""
        if self._stopping is not None:
            self._ledger.mark_after_stop(self._stopping.after_stop)

    def stops(self) -> tuple[Stop, ...]:
        """What became of the rule."""
        return () if self._stopping is None else self._stopping.stops()
