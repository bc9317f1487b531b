"""The ledger: the state of every trial of a run, in SQLite.

One writer (the process that holds the run's lock), any number of readers. Write-ahead logging: what is committed
survives the death of any process. A trial is `pending` or `done`; only rows of done trials carry results.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel, FiniteFloat, TypeAdapter

from proctor.errors import InputError, RunError
from proctor.record.batch import (
    BATCH,
    FETCH,
    KEY,
    NAMES,
    TrialBatch,
    no_metrics,
    parsed_metrics,
    result_of,
    signed,
    unsigned,
)
from proctor.record.disk import DiskError, described, trouble
from proctor.record.files import refuse_link
from proctor.record.opening import Copied, connect, reached
from proctor.record.rows import odd_row
from proctor_host.episode import Outcome
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

FORMAT = 5

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE trials (
  agent TEXT NOT NULL, task TEXT NOT NULL, idx INTEGER NOT NULL, seed INTEGER NOT NULL,
  agent_position INTEGER NOT NULL, task_position INTEGER NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending', attempts INTEGER NOT NULL DEFAULT 0, faults TEXT NOT NULL DEFAULT '[]',
  outcome TEXT, success INTEGER, steps_total INTEGER, steps_to_success INTEGER, episode_reward REAL, max_steps INTEGER,
  first_success INTEGER, clipped_steps INTEGER, wall_time_s REAL, sim_time_s REAL, metrics TEXT, error TEXT, npz TEXT,
  npz_size INTEGER, npz_crc INTEGER, digest TEXT, trace TEXT, video TEXT, "case" TEXT,
  after_stop INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (agent, task, idx)
) WITHOUT ROWID;
CREATE INDEX trials_in_order ON trials (agent_position, task_position, idx);
"""

_PLACED = """
CREATE TABLE IF NOT EXISTS placed (
  agent TEXT NOT NULL, task TEXT NOT NULL, idx INTEGER NOT NULL, worker INTEGER NOT NULL, policy INTEGER,
  PRIMARY KEY (agent, task, idx)
) WITHOUT ROWID
"""
"""Only in the ledgers of runs that had several machines."""
_RESULT_NAMES = NAMES[len(KEY) :]
_COLUMNS = {name: "idx" if name == "index" else f'"{name}"' for name in NAMES}
_FINISHED = f"SELECT {', '.join(_COLUMNS.values())} FROM trials WHERE state = 'done'"


class _Forwards(BaseModel):
    """What is noted of the forwards of one stage."""

    forwards: FiniteFloat
    rows: FiniteFloat
    seconds: FiniteFloat


class _Rating(BaseModel):
    """What is noted of one rater's view of one trial."""

    agent: str
    task: str
    index: int
    rater: str | None
    blind: bool | None
    success: bool | None


class _Rows(BaseModel):
    """What is noted of the rows of one stage: how many a forward has, and what they were found to depend on."""

    pad_to: int | None
    tried: int = 0
    again: int = 0
    company: int = 0
    place: int = 0
    alone: int = 0
    alone_unknown: int = 0
    memory: int = 0


class _Node(BaseModel):
    node: str
    host: str
    address: str
    devices: list[str]


_NOTES: dict[str, Any] = {
    "nodes": list[_Node],
    "asked": dict[str, str],
    "corrected": list[str],
    "imported_from": str,
    "ratings": list[_Rating],
    "rows": dict[str, dict[str, _Rows]],
    "batching": dict[str, dict[str, _Forwards]],
    "spent": dict[str, FiniteFloat],
    "seconds": FiniteFloat,
    "shard": str,
    "fingerprints": dict[str, Any],
    "protocols": list[dict[str, Any]],
}
"""Notes whose parts somebody computes with, and of what kind they are."""

_MISSED = (Outcome.TRUNCATED, Outcome.FAILURE)


class Ledger:
    """Open with `Ledger.create` or `Ledger.open`; use as a context manager or close it."""

    def __init__(self, connection: sqlite3.Connection, copied: Copied = None):
        self._db, self._copied = connection, copied

    @classmethod
    def create(cls, path: Path) -> Ledger:
        ledger = cls(connect(path))
        ledger._configure()
        ledger._db.executescript(_SCHEMA)
        ledger.set_meta("format", FORMAT)
        return ledger

    @classmethod
    def open(cls, path: Path, copied: bool = False) -> Ledger:
        """`copied`: what is written goes to a copy that is gone when it is closed."""
        if not path.is_file():
            raise InputError(f"{path.parent} is not a run folder: it has no {path.name}")
        refuse_link(path)
        ledger = cls(*reached(path, copied))
        try:
            found = ledger.get_meta("format")
            ledger._configure()
        except sqlite3.DatabaseError as error:
            ledger.close()
            if (why := trouble(error)) is not None:
                raise DiskError(f"{described(path, why)}, so that {path} cannot be opened") from None
            if "no such table: meta" in str(error):
                raise InputError(
                    f"{path.parent} was given up before its trials were planned, so there is nothing to go on with; "
                    "remove it and start the run again"
                ) from None
            raise InputError(f"{path} cannot be read as a ledger: {error}") from None
        if found != FORMAT:
            ledger.close()
            raise InputError(f"{path} has ledger format {found}; this version of Proctor reads {FORMAT}")
        return ledger

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()
        if self._copied is not None:
            self._copied.cleanup()

    def problem(self, cells: Collection[tuple[str, str]] | None, *, large_seeds: bool = False) -> str | None:
        """What is wrong with a row, in words: a value that is not of the kind that was written, or a trial of none of
        these (agent, task), where they are known. None: nothing is."""
        try:
            odd = odd_row(self._db, large_seeds=large_seeds)
            strange = (
                set() if cells is None else set(self._db.execute("SELECT DISTINCT agent, task FROM trials")) - {*cells}
            )
        except sqlite3.DatabaseError as error:
            return str(error)
        if odd is None and strange:
            agent, task = min(strange)
            return f"it has trials of agent {agent!a} on task {task!a}, which the config does not have"
        return odd

    def set_meta(self, key: str, value: Any) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(value)))

    def get_meta(self, key: str, default: Any = None) -> Any:
        try:
            row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
            found = default if row is None else json.loads(row[0])
            if row is not None and key in _NOTES:
                TypeAdapter(_NOTES[key]).validate_python(found, strict=True)
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f'the ledger is damaged: its note "{key}" cannot be read: {error}') from None
        kind = float | int if isinstance(default, float) else type(default)
        if default is not None and not isinstance(found, kind):
            raise InputError(f'the ledger is damaged: its note "{key}" is {str(found)[:60]!a}')
        return found

    def looks(self) -> list[int]:
        """Numbers of trials per agent at which results were looked at before more were planned."""
        return [look for look in self.get_meta("looks", []) if isinstance(look, int)]

    def initial_states(self) -> dict[str, int]:
        """How many initial states each task has, where that is known."""
        known = self.get_meta("initial_states", {})
        return {task: states for task, states in known.items() if isinstance(states, int) and states > 0}

    def add(self, trials: Iterable[tuple[Trial, int, int]]) -> None:
        """Plan trials: (trial, position of its agent, position of its task). Known ones are left alone."""
        rows = ((t.agent, t.task, t.index, signed(t.seed), a, k) for t, a, k in trials)
        self._write(
            "INSERT OR IGNORE INTO trials (agent, task, idx, seed, agent_position, task_position) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            rows,
        )

    def finish(self, results: Iterable[TrialResult]) -> None:
        """Commit results, all in one transaction."""
        assignments = ", ".join(f'"{name}" = ?' for name in _RESULT_NAMES)
        self._write(
            f"UPDATE trials SET state = 'done', {assignments} WHERE agent = ? AND task = ? AND idx = ?",
            (_to_row(r) for r in results),
        )

    def place(self, rows: Collection[tuple[Trial, int, int | None]], nodes: Sequence[dict[str, Any]]) -> None:
        """Note on which nodes trials were done: the numbers of those of the environment and of the policy, in a list of
        nodes."""
        if rows:
            self._db.execute(_PLACED)
            self.set_meta("nodes", list(nodes))
            self._write(
                "INSERT OR REPLACE INTO placed VALUES (?, ?, ?, ?, ?)",
                ((t.agent, t.task, t.index, worker, policy) for t, worker, policy in rows),
            )

    def nodes(self) -> list[dict[str, Any]]:
        """The nodes of a run that had several machines, each with the `trials` that were done there, and those whose
        policy was `asked` there."""
        nodes = self.get_meta("nodes", [])
        for name, column in (("trials", "worker"), ("asked", "policy")):
            found = dict(self._of_nodes(f"SELECT {column}, count(*) FROM placed GROUP BY 1")) if nodes else {}
            for i, node in enumerate(nodes):
                node[name] = found.get(i, 0)
        return nodes

    def placed(self) -> Iterator[tuple[Trial, int, int | None]]:
        """Trials of a run that had several machines, with the number of the node of the environment, and that of the
        policy where it was another process."""
        known = (
            "SELECT agent, task, idx, seed, worker, policy FROM placed JOIN trials USING (agent, task, idx) "
            "ORDER BY agent_position, task_position, idx"
        )
        for agent, task, index, seed, worker, policy in self._of_nodes(known) if self.get_meta("nodes", []) else ():
            yield Trial(agent, task, index, unsigned(seed)), worker, policy

    def _of_nodes(self, statement: str) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._db.execute(statement)
        except sqlite3.OperationalError as error:
            raise InputError(
                f"the ledger is damaged: it notes nodes, but not where trials were done: {error}"
            ) from None

    def set_metrics(self, values: Iterable[tuple[Trial, dict[str, float | None]]]) -> None:
        """Replace the metrics of finished trials."""
        rows = ((_dump(metrics), t.agent, t.task, t.index) for t, metrics in values)
        self._write("UPDATE trials SET metrics = ? WHERE agent = ? AND task = ? AND idx = ?", rows)

    def add_fault(self, trial: Trial, fault: str) -> None:
        """Note that an attempt of a trial broke, and how."""
        self._write(
            "UPDATE trials SET attempts = attempts + 1, faults = json_insert(faults, '$[#]', ?) "
            "WHERE agent = ? AND task = ? AND idx = ?",
            [(fault, trial.agent, trial.task, trial.index)],
        )

    def attempts(self) -> dict[str, int]:
        """How many attempts of trials that are not done broke, by the trial's key; those without are left out."""
        rows = self._db.execute(
            "SELECT agent, task, idx, seed, attempts FROM trials WHERE state != 'done' AND attempts > 0"
        )
        return {Trial(*row[:4]).key: row[4] for row in rows}  # the key has no seed

    def reopen(self, trials: Iterable[Trial]) -> None:
        """Make these trials pending again, e.g. because their records are gone."""
        rows = [(t.agent, t.task, t.index) for t in trials]
        self._write("UPDATE trials SET state = 'pending', attempts = 0 WHERE agent = ? AND task = ? AND idx = ?", rows)

    def reopen_unscored(self) -> int:
        """Make every unscored trial pending again, with all its attempts; how many."""
        unscored = [outcome.value for outcome in Outcome if not outcome.scored]
        marks = ", ".join("?" * len(unscored))
        return self._db.execute(
            f"UPDATE trials SET state = 'pending', attempts = 0 WHERE state = 'done' AND outcome IN ({marks})", unscored
        ).rowcount

    def mark_after_stop(self, comes_after: Callable[[str, str, int], bool]) -> None:
        """Mark the finished trials (agent, task, index) that come after a stop, and no others."""
        rows = self._db.execute("SELECT agent, task, idx, after_stop FROM trials WHERE state = 'done'")
        changed = [(new, *row[:3]) for row in rows if (new := int(comes_after(*row[:3]))) != row[3]]
        if changed:
            self._write("UPDATE trials SET after_stop = ? WHERE agent = ? AND task = ? AND idx = ?", changed)

    def settle_success(self) -> None:
        """Where some trials of a task said what success is, those that did not say it had none: an environment may
        report success only when it comes."""
        self._db.execute(
            "UPDATE trials SET success = 0, outcome = CASE WHEN steps_total >= max_steps THEN ? ELSE ? END "
            "WHERE state = 'done' AND outcome = ? AND task IN "
            "(SELECT task FROM trials WHERE state = 'done' AND outcome IN (?, ?, ?))",
            [o.value for o in (*_MISSED, Outcome.DONE, Outcome.SUCCESS, *_MISSED)],
        )

    def silent_tasks(self) -> set[str]:
        """Tasks of which trials ran to their end and none said whether it was a success."""
        return {
            task
            for (task,) in self._db.execute(
                "SELECT task FROM trials WHERE state = 'done' GROUP BY task "
                "HAVING sum(outcome = ?) > 0 AND sum(outcome IN (?, ?, ?)) = 0",
                [o.value for o in (Outcome.DONE, Outcome.SUCCESS, *_MISSED)],
            )
        }

    def successes(self) -> Iterator[tuple[str, str, int, bool | None]]:
        """(agent, task, index, success) of every finished trial, in plan order; success is None where it is
        unscored."""
        scored = {outcome.value for outcome in Outcome if outcome.scored}
        for batch in self.batches(("success", "outcome"), metrics=()):
            names = ("agent", "task", "index", "success", "outcome")
            for agent, task, index, success, outcome in zip(*(batch[name] for name in names), strict=True):
                yield agent, task, index, bool(success) if outcome in scored else None

    def counts(self) -> tuple[int, int]:
        """How many trials are planned, and how many of them are done."""
        planned, done = self._db.execute("SELECT count(*), coalesce(sum(state = 'done'), 0) FROM trials").fetchone()
        return planned, done

    def planned(self) -> dict[tuple[str, str], int]:
        """How many trials are planned of each (agent, task), in the order of the plan."""
        rows = self._db.execute(
            "SELECT agent, task, count(*) FROM trials GROUP BY agent_position, task_position, agent, task"
        )
        return {(agent, task): n for agent, task, n in rows}

    def broken_attempts(self, most: int) -> tuple[int, list[tuple[str, bool, str]]]:
        """How many attempts broke, those of finished trials included, and some of them: the trial's key, whether it is
        done by now, and how its last attempt broke."""
        rows = self._db.execute(
            "SELECT agent, task, idx, state = 'done', json_extract(faults, '$[#-1]') FROM trials "
            "WHERE faults != '[]' ORDER BY state = 'done', agent_position, task_position, idx LIMIT ?",
            (most,),
        ).fetchall()
        (n,) = self._db.execute("SELECT coalesce(sum(json_array_length(faults)), 0) FROM trials").fetchone()
        return n, [(Trial(row[0], row[1], row[2], 0).key, bool(row[3]), str(row[4])) for row in rows]

    def faults(self, agent: str, task: str, index: int) -> list[str]:
        """How the attempts of one trial broke that were tried again, in their order."""
        row = self._db.execute(
            "SELECT faults FROM trials WHERE agent = ? AND task = ? AND idx = ?", (agent, task, index)
        ).fetchone()
        return [] if row is None else [str(fault) for fault in json.loads(row[0])]

    def outcome_counts(self) -> Iterator[tuple[str, str, Outcome, bool | None, int]]:
        """Finished trials by (agent, task, outcome, success), and how many there are of each."""
        rows = self._db.execute(
            "SELECT agent, task, outcome, success, count(*) FROM trials WHERE state = 'done' GROUP BY 1, 2, 3, 4"
        )
        for agent, task, outcome, success, n in rows:
            yield agent, task, Outcome(outcome), None if success is None else bool(success), n

    def seeds(self, task: str) -> dict[int, int]:
        """The seed of every index that is planned for some agent on a task."""
        rows = self._db.execute("SELECT DISTINCT idx, seed FROM trials WHERE task = ?", (task,))
        return {index: unsigned(seed) for index, seed in rows}

    def by_seed(self) -> list[str]:
        """Tasks whose trials begin by their seed alone, whatever their index, where that is known."""
        return [task for task in self.get_meta("by_seed", []) if isinstance(task, str)]

    def pending(self) -> set[tuple[str, str, int]]:
        """(agent, task, index) of every trial that is not done."""
        return set(self._db.execute("SELECT agent, task, idx FROM trials WHERE state != 'done'"))

    def results(self) -> Iterator[TrialResult]:
        """Finished trials in plan order: agent, task, index."""
        for row in self._db.execute(f"{_FINISHED} ORDER BY agent_position, task_position, idx"):
            yield result_of(row)

    def batches(self, columns: Collection[str] = NAMES, metrics: Collection[str] | None = None) -> Iterator[TrialBatch]:
        """As `results`, many trials at a time and without an object for each, all as they are at one moment. With
        `columns` only these and `agent`, `task`, `index`, `seed`; with `metrics` only these metrics. Read cell by cell,
        as they lie in the file: the index of the plan's order would look up each trial by itself. Nothing is to be
        written through this ledger meanwhile."""
        wanted = {*KEY, *columns} | (set() if metrics == () else {"metrics"})
        names = [name for name in NAMES if name in wanted]
        picked = ", ".join(_COLUMNS[name] for name in names)
        query = f"SELECT {picked} FROM trials WHERE agent = ? AND task = ? AND state = 'done' ORDER BY idx"
        with self._snapshot():
            cells = self._db.execute("SELECT agent, task FROM trials GROUP BY agent_position, task_position").fetchall()
            parts = (part for cell in cells for part in _parts(self._db.execute(query, cell)))
            while (found := _gathered(parts, names))["agent"]:
                n = len(found["agent"])
                parsed = no_metrics(n) if metrics == () else parsed_metrics(found["metrics"], metrics)
                yield TrialBatch(dict(found), parsed)

    def result(self, agent: str, task: str, index: int) -> TrialResult | None:
        row = self._db.execute(f"{_FINISHED} AND agent = ? AND task = ? AND idx = ?", (agent, task, index)).fetchone()
        return None if row is None else result_of(row)

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """What is read inside is as it was at the first read, whatever another process writes."""
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            with suppress(sqlite3.ProgrammingError):  # closed, because whoever read raised in the middle
                self._db.execute("COMMIT")

    def _configure(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")

    def _write(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """All rows or, whatever happens, none."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(statement, rows)
            self._db.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise RunError(f"the ledger cannot be written: {error}; what was committed before is safe") from None
        finally:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")


def _parts(cursor: sqlite3.Cursor) -> Iterator[list[tuple[Any, ...]]]:
    """Its rows, some at a time, which stay in the processor's cache."""
    while rows := cursor.fetchmany(FETCH):
        yield rows


def _gathered(parts: Iterable[list[tuple[Any, ...]]], names: Sequence[str]) -> dict[str, list[Any]]:
    """The next rows as columns, until there are enough for a batch."""
    columns: dict[str, list[Any]] = {name: [] for name in names}
    n = 0
    for rows in parts:
        for column, values in zip(columns.values(), zip(*rows, strict=True), strict=True):
            column += values
        n += len(rows)
        if n >= BATCH:
            break
    if min(columns["seed"], default=0) < 0:
        columns["seed"] = [unsigned(seed) for seed in columns["seed"]]
    return columns


def _dump(metrics: dict[str, float | None]) -> str:
    return json.dumps({k: None if v is None or not math.isfinite(v) else float(v) for k, v in metrics.items()})


def _to_row(r: TrialResult) -> tuple[Any, ...]:
    values = {
        **{name: getattr(r, name) for name in _RESULT_NAMES},
        "outcome": r.outcome.value,
        "success": None if r.success is None else int(r.success),
        "after_stop": int(r.after_stop),
        "metrics": _dump(r.metrics),
    }
    return (*(values[name] for name in _RESULT_NAMES), r.trial.agent, r.trial.task, r.trial.index)
