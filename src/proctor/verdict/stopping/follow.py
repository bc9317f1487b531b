"""Following a run's `stop_when`.

Results arrive in any order and are read in one order only (see `ReadingOrder`): result i when all before it are in.
What a test says is therefore a function of the results, and a run that was killed is followed anew from its ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from proctor.config.models import EvalConfig, StopCfg
from proctor.record.ledger import Ledger
from proctor.scoring import make_scoring
from proctor.verdict.stopping.kinds import Precision, Rates, Scores
from proctor.verdict.stopping.watch import Seen, Stop, Watch
from proctor_host.result import TrialResult


class Reader:
    """Makes of results what the test of a config's `stop_when` reads: whether a trial succeeded, or its score."""

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


class ReadingOrder:
    """The trials of one agent as places 0 .. `places` - 1 in the order of reading: by index, then by task as the config
    lists them, so that every look has seen nearly the same number of trials of each task. The order belongs to the
    config alone: how many trials run at once, on what, and in which order they end change nothing."""

    def __init__(self, cfg: EvalConfig):
        self._counts = [cfg.trials_of(task) for task in cfg.tasks]
        self._tasks = {task.name: position for position, task in enumerate(cfg.tasks)}
        self.places = sum(self._counts)

    def place(self, task: str, index: int) -> int:
        """Where a trial comes; tasks that have no more trials are passed over."""
        earlier = sum(min(count, index) for count in self._counts)
        return earlier + sum(count > index for count in self._counts[: self._tasks[task]])

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """(task, index) from the first place to the last."""
        for index in range(max(self._counts)):
            yield from ((task, index) for task, position in self._tasks.items() if index < self._counts[position])


class Stopping:
    """Give it finished trials as they come. Of more than two agents every pair has a test of its own, at Bonferroni's
    level, and an agent is settled when all its pairs are. Raises ValueError for a config without `stop_when`."""

    def __init__(self, cfg: EvalConfig):
        if cfg.stop_when is None:
            raise ValueError("the config has no stop_when")
        self._reading = ReadingOrder(cfg)
        self._watches = watches_of(cfg.stop_when, [agent.name for agent in cfg.agents], self._reading.places)
        self._by_agent: dict[str, list[Watch]] = {}
        for watch in self._watches:
            for agent in watch.agents:
                self._by_agent.setdefault(agent, []).append(watch)

    def add(self, seen: Iterable[Seen]) -> set[str]:
        """Note finished trials and read on as far as there is no gap. The agents that are settled now and were not
        before."""
        before, touched = self.settled, dict[int, Watch]()
        for agent, task, index, value in seen:
            for watch in self._by_agent.get(agent, ()):
                watch.note(agent, self._reading.place(task, index), value)
                touched[id(watch)] = watch
        for watch in touched.values():
            watch.read_on()
        return set(self.settled - before)

    @property
    def settled(self) -> frozenset[str]:
        """Agents of which no further trial is needed."""
        return frozenset(agent for agent, watches in self._by_agent.items() if all(w.stopped for w in watches))

    def after_stop(self, agent: str, task: str, index: int) -> bool:
        """Whether a trial comes after the stop of all tests that its agent is in."""
        watches = self._by_agent.get(agent, ())
        stopped = bool(watches) and all(watch.stopped for watch in watches)
        return stopped and self._reading.place(task, index) >= max(watch.place for watch in watches)

    def stops(self) -> tuple[Stop, ...]:
        """One for each test, in the order of the config's agents."""
        return tuple(watch.outcome() for watch in self._watches)


def watches_of(rule: StopCfg, agents: list[str], places: int) -> list[Watch]:
    """The tests that a rule asks for."""
    if rule.compare is None:
        return [Precision((agent,), rule, places) for agent in agents]
    pairs = list(combinations(rule.compare, 2))
    kind = Rates if rule.on == "success" else Scores
    return [kind(pair, rule, places, family=len(pairs)) for pair in pairs]
