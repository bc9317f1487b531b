"""A run as it was at one moment: a copy of its ledger, and its trials as columns, read when they are asked for.

`Snapshots` keeps the newest of a few runs in memory (the copy in a temporary folder), and takes another one when the
run's files have changed. Nothing is written into a run, and code that a run is scored with is not imported unless the
viewer was started with `--trust`: such runs have no scores.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from proctor.config.code import scoring_code
from proctor.config.models import EvalConfig
from proctor.errors import InputError
from proctor.foreign import read_json
from proctor.metrics import describe
from proctor.metrics.registry import describe_of_family
from proctor.record.columns import OUTCOMES, Trials, read_trials
from proctor.record.ledger import Ledger
from proctor.record.opening import reading_only
from proctor.runs.run import Run
from proctor.scoring import Scoring, make_scoring
from proctor.scoring.columns import reads_of, scored_trials
from proctor.scoring.plain import SuccessScoring
from proctor.view.states import is_running
from proctor_host.result import TrialResult

T = TypeVar("T")
KEPT = 4
"""Runs that are kept in memory."""
BASE = ("outcome", "success", "after_stop", "attempts", "steps_total", "episode_reward", "wall_time_s", "case", "video")
"""Columns that the first look at a run takes, beside what its scoring reads."""
SHARE = 0.005
"""Of a processor's time that looking again at a run that goes on may take."""
SCENE_FORCE, FORCE_UNIT = "scene force", "force_unit"
"""The unit of forces of which a metric does not know more, and the constant of a record that does."""
FEW = 20
"""Tasks whose records are asked for the unit of their forces."""
Signature = tuple[tuple[int, int], ...]


def signature_of(run: Path) -> Signature:
    """Changes whenever something was written to the run. Raises InputError where the run is gone."""
    found = []
    for name in ("ledger.sqlite", "ledger.sqlite-wal", "config.json"):
        try:
            stat = os.stat(run / name)
            found.append((stat.st_mtime_ns, stat.st_size))
        except OSError:
            found.append((0, 0))
    if found[0] == (0, 0):
        raise InputError(f"the run is gone: {run} has no ledger.sqlite any more")
    return tuple(found)


class Snapshot:
    """`scored` False: its scoring is code that is not imported, and its scores are not known here."""

    def __init__(self, path: Path, signature: Signature, *, trust: bool):
        self.path, self.signature = path, signature
        self.run = Run(path, trust=trust)
        self._lock = threading.RLock()
        with reading_only():
            self.cfg: EvalConfig = self.run.plain_config()
            self._ledger = self.run.ledger(copied=True)
        weakref.finalize(self, self._ledger.close)
        self._ledger.settle_success()
        self.scored = trust or not scoring_code(self.cfg)

    def read(self, ask: Callable[[Ledger], T]) -> T:
        """What is asked of the ledger, one question at a time. Raises InputError, with what is wrong with the ledger,
        where it cannot be answered."""
        with self._lock:
            try:
                return ask(self._ledger)
            except InputError:
                raise
            except Exception as error:
                cells = {(agent.name, task.name) for agent in self.cfg.agents for task in self.cfg.tasks}
                why = self._ledger.problem(cells, large_seeds=True) or f"{type(error).__name__}: {error}"
                raise InputError(f"{self.path / 'ledger.sqlite'} is damaged: {why}") from None

    @cached_property
    def scoring(self) -> Scoring:
        """The run's own, where it may be used; else success, whose totals are not shown as scores."""
        return make_scoring(self.cfg.scoring) if self.scored else SuccessScoring(type(self.cfg.scoring)())

    @cached_property
    def trials(self) -> Trials:
        """All finished trials with the columns of `BASE`, and their scores; of metrics only what the scoring reads."""
        reads = reads_of(self.scoring)
        fields, metrics = (None, None) if reads is None else ((*BASE, "error", *reads[0]), reads[1])
        return self.read(lambda ledger: self._columns(ledger, fields, metrics))

    @cached_property
    def metrics(self) -> dict[str, np.ndarray]:
        """Every metric of every finished trial, in the order of `trials`."""
        found = self.read(lambda ledger: self._columns(ledger, (), None, scored=False))
        if found.n != self.trials.n:
            raise InputError("the trials of the ledger cannot be read twice alike")
        return {name: found.metrics[name] for name in found.measured()}

    @cached_property
    def texts(self) -> list[str]:
        """What is searched of every trial, in lower case: key, outcome, seed, case and the line of its error."""
        trials = self.trials
        cells = [f"{agent}/{task}/".lower() for agent, task in trials.pairs]
        columns = [trials[name].tolist() for name in ("cell", "index", "outcome", "seed", "case", "error")]
        ends = [f" {outcome.value} seed " for outcome in OUTCOMES]
        return [
            f"{cells[cell]}{index:04d}{ends[outcome]}{seed} {(case or '').lower()} {(error or '').lower()}"
            for cell, index, outcome, seed, case, error in zip(*columns, strict=True)
        ]

    def _columns(self, ledger: Ledger, fields: Any, metrics: Any, scored: bool = True) -> Trials:
        batches = ledger.batches() if fields is None else ledger.batches(fields, metrics)
        if scored:
            return scored_trials(self.cfg, batches, self.scoring, ledger.initial_states())
        return read_trials([(a.name, t.name) for a in self.cfg.agents for t in self.cfg.tasks], batches)

    @cached_property
    def units(self) -> dict[str, tuple[str, str]]:
        """Unit and direction of the metrics that this installation knows."""
        known = {info.name: (info.unit, info.direction) for info in describe()}
        for name in self.metrics:
            info = None if name in known else describe_of_family(name)
            if info is not None:
                known[name] = (info.unit, info.direction)
        own = {name: known[name] for name in self.metrics if name in known}
        if not any(unit == SCENE_FORCE for unit, _ in own.values()):
            return own
        said = self._force_units()
        force = said.pop() if len(said) == 1 else SCENE_FORCE
        return {name: (force if unit == SCENE_FORCE else unit, way) for name, (unit, way) in own.items()}

    def force_unit(self, result: TrialResult) -> str:
        """The unit of forces that the record of a trial says; that of its scene where it says none."""
        try:
            return said_force_unit(self.run.episode(result).arrays)
        except InputError:
            return SCENE_FORCE

    def _force_units(self) -> set[str]:
        """Of the first recorded trial of each task."""
        units = set[str]()
        for task in [task.name for task in self.cfg.tasks][:FEW]:
            for agent in self.cfg.agents:
                found = self.read(lambda ledger, pair=(agent.name, task): ledger.result(*pair, 0))
                if found is not None and found.npz is not None:
                    units.add(self.force_unit(found))
                    break
        return units

    def result(self, key: str) -> TrialResult:
        """A finished trial by its key. Raises InputError where there is none."""
        agent, task, index = self._place(key)
        found = self.read(lambda ledger: ledger.result(agent, task, index))
        if found is None:
            raise InputError(f'there is no finished trial "{key}" in this run')
        return found

    def _place(self, key: str) -> tuple[str, str, int]:
        """Agent, task and index of a key; names may have slashes in them."""
        start, _, number = key.rpartition("/")
        for agent in self.cfg.agents:
            for task in self.cfg.tasks:
                if start == f"{agent.name}/{task.name}" and number.isdecimal():
                    return agent.name, task.name, int(number)
        raise InputError(f'"{key}" is no trial of this run; a trial is AGENT/TASK/INDEX')


def said_force_unit(arrays: Mapping[str, np.ndarray]) -> str:
    """The unit of the forces of a record."""
    found = arrays.get(FORCE_UNIT)
    return str(found)[:20] if found is not None and found.ndim == 0 else SCENE_FORCE


def fresh_report(snapshot: Snapshot) -> dict[str, Any] | None:
    """What `report.json` says, where it is of all trials that the ledger has now; None where it is not."""
    path = snapshot.path / "report.json"
    try:
        if path.is_symlink() or os.stat(path).st_mtime_ns + 10**9 < snapshot.signature[0][0]:
            return None
        found = read_json(path)
        finished = found["trials"]["finished"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if finished == snapshot.trials.n else None


class Snapshots:
    """The newest snapshot of each of the last few runs that somebody looked at."""

    def __init__(self, *, trust: bool):
        self._trust = trust
        self._kept: OrderedDict[Path, tuple[Snapshot, float, float]] = OrderedDict()
        self._locks: dict[Path, threading.Lock] = {}
        self._lock = threading.Lock()

    def of(self, path: Path) -> Snapshot:
        """The run as it is, or was a moment ago: one that goes on is read again after a while that depends on how long
        that takes."""
        with self._lock:
            lock = self._locks.setdefault(path, threading.Lock())
        with lock:
            signature, now = signature_of(path), time.monotonic()
            known = self._kept.get(path)
            if known is not None:
                snapshot, at, took = known
                if snapshot.signature == signature or (now - at < took / SHARE and is_running(path)):
                    with self._lock:
                        self._kept.move_to_end(path)
                    return snapshot
            snapshot = Snapshot(path, signature, trust=self._trust)
            _ = snapshot.trials
            self._keep(path, snapshot, time.monotonic() - now)
            return snapshot

    def _keep(self, path: Path, snapshot: Snapshot, took: float) -> None:
        with self._lock:
            self._kept.pop(path, None)
            self._kept[path] = snapshot, time.monotonic(), took
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)

    def close(self) -> None:
        """Let go of all; copies are removed when nobody reads them any more."""
        with self._lock:
            self._kept.clear()
