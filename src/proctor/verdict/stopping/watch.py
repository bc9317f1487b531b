"""Following a run's `stop_when`.

Results arrive in any order and are read in one order only (see `order`): result i when all before it are in. What a
test says is therefore a function of the results, and a run that was killed is followed anew from its ledger.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import Any

import numpy as np

from proctor.config.models import EvalConfig, StopCfg
from proctor.stats import Interval, SpendingTest, Verdict, rate_sequence
from proctor.stats.sequences import log_likelihood, log_limit
from proctor.verdict.stopping.order import ReadingOrder
from proctor.verdict.stopping.outcome import Stop

MISSING, SUCCEEDED, UNSCORED = -1, 1, 2
"""What the board holds besides 0, a failure."""

Seen = tuple[str, str, int, bool | None]
"""What a test needs to know of a finished trial: agent, task, index, success; None where it is unscored."""


class Stopping:
    """Give it finished trials as they come. Raises ValueError for a config without `stop_when`."""

    def __init__(self, cfg: EvalConfig):
        if cfg.stop_when is None:
            raise ValueError("the config has no stop_when")
        self._reading = ReadingOrder(cfg)
        rule = cfg.stop_when
        groups = [rule.compare] if rule.compare is not None else [(agent.name,) for agent in cfg.agents]
        kind = _Comparison if rule.compare is not None else _Precision
        self._watches = [kind(group, rule, self._reading.places) for group in groups]
        self._by_agent = {agent: watch for watch in self._watches for agent in watch.agents}

    def add(self, seen: Iterable[Seen]) -> set[str]:
        """Note finished trials and read on as far as there is no gap. The agents that are settled now and were not
        before."""
        touched: dict[int, _Watch] = {}
        for agent, task, index, success in seen:
            watch = self._by_agent.get(agent)
            if watch is not None:
                watch.note(agent, self._reading.place(task, index), success)
                touched[id(watch)] = watch
        return {agent for watch in touched.values() if watch.read_on() for agent in watch.agents}

    @property
    def settled(self) -> frozenset[str]:
        """Agents of which no further trial is needed."""
        return frozenset(agent for agent, watch in self._by_agent.items() if watch.stopped)

    def after_stop(self, agent: str, task: str, index: int) -> bool:
        """Whether a trial comes after the stop of the test that its agent is in."""
        watch = self._by_agent.get(agent)
        return watch is not None and watch.stopped and self._reading.place(task, index) >= watch.place

    def stops(self) -> tuple[Stop, ...]:
        """One for each test, in the order of the config's agents."""
        return tuple(watch.outcome() for watch in self._watches)


class _Watch(abc.ABC):
    """One test over the trials of one agent, or of two."""

    def __init__(self, agents: tuple[str, ...], rule: StopCfg, places: int):
        self.agents, self.rule = agents, rule
        self.max_trials = rule.max_trials or places
        self.verdict, self.n, self.skipped, self.place = Verdict.GO_ON, 0, 0, 0
        self._board = {agent: np.full(places, MISSING, np.int8) for agent in agents}

    @property
    def stopped(self) -> bool:
        return self.verdict is not Verdict.GO_ON

    def note(self, agent: str, place: int, success: bool | None) -> None:
        self._board[agent][place] = UNSCORED if success is None else int(success)

    def read_on(self) -> bool:
        """Read up to the first gap or the stop; whether it stopped here."""
        if self.stopped:
            return False
        rows = np.stack([column[self.place :] for column in self._board.values()])
        gaps = np.flatnonzero((rows == MISSING).any(axis=0))
        rows = rows[:, : gaps[0]] if gaps.size else rows
        if rows.shape[1]:
            self._read(rows, (rows != UNSCORED).all(axis=0))
        return self.stopped

    def _advance(self, scored: np.ndarray, used: int) -> None:
        """Count the first `used` of the scored places as read, and what was passed over up to the last of them; all
        of it where the test goes on."""
        stop = len(scored) if not self.stopped else int(np.flatnonzero(scored)[used - 1]) + 1
        self.n += used
        self.skipped += stop - used
        self.place += stop

    @abc.abstractmethod
    def _read(self, rows: np.ndarray, scored: np.ndarray) -> None:
        """Read columns of `rows` `(agents, places)` where `scored`, up to the stop."""

    def outcome(self) -> Stop:
        """What the test says so far."""
        return Stop(
            agents=self.agents,
            verdict=self.verdict,
            n=self.n,
            skipped=self.skipped,
            place=self.place,
            alpha=self.rule.alpha,
            max_trials=self.max_trials,
            **self._found(),
        )

    @abc.abstractmethod
    def _found(self) -> dict[str, Any]:
        """The fields of a `Stop` that are of this kind of test."""


class _Comparison(_Watch):
    """Two agents on the same seeds, with a declared maximum."""

    def __init__(self, agents: tuple[str, ...], rule: StopCfg, places: int):
        super().__init__(agents, rule, places)
        self._test = SpendingTest(self.max_trials, rule.alpha)

    def _read(self, rows: np.ndarray, scored: np.ndarray) -> None:
        used = 0
        for a, b in rows[:, scored].T.tolist():
            used += 1
            if self._test.update(a == SUCCEEDED, b == SUCCEEDED).stop:
                break
        self.verdict = self._test.decision.verdict
        self._advance(scored, used)

    def _found(self) -> dict[str, Any]:
        pairs, better = self._test.pairs, self._test.decision.better
        return {
            "estimate": (pairs.only_a - pairs.only_b) / self.n if self.n else None,
            "interval": self._test.interval(),
            "method": "exact alpha spending on pairs of one seed",
            "better": None if better is None else self.agents["ab".index(better)],
            "pairs": pairs,
        }


class _Precision(_Watch):
    """One rate until the interval that holds at every look is narrow."""

    successes = 0

    def _read(self, rows: np.ndarray, scored: np.ndarray) -> None:
        assert self.rule.interval_width is not None
        outcomes = rows[0, scored][: self.max_trials - self.n]
        successes = self.successes + np.cumsum(outcomes, dtype=np.int64)
        looks = self.n + np.arange(1, len(outcomes) + 1)
        narrow = first_narrow(successes, looks, self.rule.alpha, self.rule.interval_width)
        used = len(outcomes) if narrow is None else narrow + 1
        if narrow is not None:
            self.verdict = Verdict.PRECISE
        elif self.n + used == self.max_trials:
            self.verdict = Verdict.MAXIMUM
        self.successes = int(successes[used - 1]) if used else self.successes
        self._advance(scored, used)

    def _found(self) -> dict[str, Any]:
        low, high = rate_sequence(np.asarray(self.successes), np.asarray(self.n), self.rule.alpha)
        return {
            "estimate": self.successes / self.n if self.n else None,
            "interval": Interval(float(low), float(high)),
            "method": "confidence sequence",
            "width": self.rule.interval_width,
        }


def first_narrow(successes: np.ndarray, n: np.ndarray, alpha: float, width: float) -> int | None:
    """The first look whose confidence sequence is at most `width` wide; None where there is none. Most looks are ruled
    out by the likelihood at four points: an interval of that width reaches neither a whole width to either side of
    the observed rate, nor half a width to both."""
    far = _outside(successes, n, alpha, -width) & _outside(successes, n, alpha, width)
    near = _outside(successes, n, alpha, -width / 2) | _outside(successes, n, alpha, width / 2)
    for part in np.array_split(candidates := np.flatnonzero(far & near), len(candidates) // 1024 + 1):
        low, high = rate_sequence(successes[part], n[part], alpha)
        found = np.flatnonzero(high - low <= width)
        if found.size:
            return int(part[found[0]])
    return None


def _outside(successes: np.ndarray, n: np.ndarray, alpha: float, by: float) -> np.ndarray:
    """Whether the rate this far from the observed one is outside of the confidence sequence or no rate."""
    point = successes / n + by
    likelihood = log_likelihood(successes, n, np.clip(point, 0, 1))
    return (likelihood <= log_limit(successes, n, alpha) + 1e-9) | (point < 0) | (point > 1)
