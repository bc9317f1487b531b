"""The trials of a run as a table: filtered and sorted on columns, a page at a time.

`Query` is what an address says; `found` gives the rows it means, `page` what a browser shows of them. A hundred
thousand trials are filtered in some milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.record.columns import OUTCOMES, Trials
from proctor.view.snapshot import Snapshot
from proctor_host.trials import Trial

PAGE, MOST = 100, 1000
PLAIN = {
    "score": "score",
    "steps": "steps_total",
    "reward": "episode_reward",
    "wall_time_s": "wall_time_s",
    "attempts": "attempts",
    "seed": "seed",
    "index": "index",
}
"""Numbers of every trial by the names that a table has for them, and their columns."""
WORST_FIRST = ("env_error", "worker_lost", "timeout", "policy_error", "invalid_action", "failure", "truncated", "done")


@dataclass(frozen=True)
class Query:
    """`ranges`: a number's name -> its least and largest value. `sort` begins with `-` where the largest comes first;
    "" is the order of the plan."""

    agents: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    seed: int | None = None
    case: str = ""
    text: str = ""
    filmed: bool = False
    ranges: tuple[tuple[str, float, float], ...] = ()
    sort: str = ""

    @classmethod
    def of(cls, given: Sequence[tuple[str, str]]) -> Query:
        """From the parameters of an address. Raises InputError for what is no query."""
        lists: dict[str, list[str]] = {name: [] for name in ("agent", "task", "outcome", "range")}
        single: dict[str, str] = {}
        for name, value in given:
            if name in lists:
                lists[name].append(value)
            else:
                single[name] = value
        try:
            seed = int(single["seed"]) if single.get("seed") else None
        except ValueError:
            raise InputError(f'the seed "{single["seed"][:40]}" is no whole number') from None
        return cls(
            tuple(lists["agent"]),
            tuple(lists["task"]),
            tuple(lists["outcome"]),
            seed,
            single.get("case", ""),
            single.get("text", ""),
            single.get("filmed") == "1",
            tuple(map(_range, lists["range"])),
            single.get("sort", ""),
        )


def _range(text: str) -> tuple[str, float, float]:
    """`name:least:largest`, either of which may be empty."""
    name, _, rest = text.partition(":")
    low, _, high = rest.partition(":")
    try:
        return name, float(low) if low else -math.inf, float(high) if high else math.inf
    except ValueError:
        raise InputError(f'the range "{text[:80]}" is none; write NAME:LEAST:LARGEST') from None


def numbers(snapshot: Snapshot, name: str) -> np.ndarray:
    """A number of every trial: one of `PLAIN`, a component of the score, or a metric. Raises InputError for any other
    name."""
    trials = snapshot.trials
    if name in PLAIN and (name != "score" or snapshot.scored):
        return trials[PLAIN[name]].astype(np.float64)
    if name.startswith("score/") and (own := name.removeprefix("score/")) in trials.components:
        return trials.components[own]
    if name in snapshot.metrics:
        return snapshot.metrics[name]
    raise InputError(f'there is no number "{name}" of the trials of this run')


def found(snapshot: Snapshot, query: Query) -> np.ndarray:
    """The rows of the trials that a query means, in its order."""
    trials = snapshot.trials
    kept = np.ones(trials.n, bool)
    if query.agents or query.tasks:
        cells = [
            (not query.agents or agent in query.agents) and (not query.tasks or task in query.tasks)
            for agent, task in trials.pairs
        ]
        kept &= np.array(cells, bool)[trials["cell"]]
    if query.outcomes:
        kept &= np.array([outcome.value in query.outcomes for outcome in OUTCOMES])[trials["outcome"]]
    if query.seed is not None:
        kept &= trials["seed"] == np.uint64(query.seed) if 0 <= query.seed < 2**64 else False
    if query.filmed:
        kept &= _known(trials["video"])
    for name, low, high in query.ranges:
        values = numbers(snapshot, name)
        kept &= (values >= low) & (values <= high)
    rows = np.flatnonzero(kept)
    if query.case:
        rows = rows[[query.case in (case or "") for case in trials["case"][rows]]]
    if query.text:
        words, texts = query.text.lower().split(), snapshot.texts
        rows = rows[[all(word in texts[row] for word in words) for row in rows.tolist()]]
    return _sorted(snapshot, rows, query.sort)


def _known(values: np.ndarray) -> np.ndarray:
    return np.array([value is not None for value in values], bool)


def _sorted(snapshot: Snapshot, rows: np.ndarray, sort: str) -> np.ndarray:
    """Equal trials stay in the order of the plan; those without a value come last."""
    name, down = sort.removeprefix("-"), sort.startswith("-")
    if not name:
        return rows
    trials = snapshot.trials
    if name == "outcome":
        order = {value: place for place, value in enumerate(WORST_FIRST)}
        values = np.array([order.get(outcome.value, len(order)) for outcome in OUTCOMES], float)[
            trials["outcome"][rows]
        ]
    elif name in ("agent", "task", "case"):
        values = _places(_names(trials, rows, name))
    else:
        values = numbers(snapshot, name)[rows]
    return rows[np.argsort(-values if down else values, kind="stable")]


def _names(trials: Trials, rows: np.ndarray, name: str) -> list[str]:
    if name == "case":
        return [case or "" for case in trials["case"][rows]]
    part = 0 if name == "agent" else 1
    return [trials.pairs[cell][part] for cell in trials["cell"][rows].tolist()]


def _places(names: Sequence[str]) -> np.ndarray:
    """Each name's place among all of them in the order of the alphabet."""
    return np.unique(np.array(names, dtype=object), return_inverse=True)[1].astype(np.float64) if names else np.empty(0)


def page(snapshot: Snapshot, query: Query, offset: int, limit: int, shown: Sequence[str]) -> dict[str, Any]:
    """Some of the rows of a query, as plain data; `shown`: metrics and components that the rows are to have."""
    rows = found(snapshot, query)
    part = rows[max(offset, 0) : max(offset, 0) + min(max(limit, 0), MOST)]
    columns = {name: numbers(snapshot, name)[part] for name in shown}
    trials = snapshot.trials
    return {
        "total": trials.n,
        "found": len(rows),
        "filmed": int(_known(trials["video"])[rows].sum()),
        "offset": max(offset, 0),
        "rows": [
            _row(snapshot, row, {name: columns[name][i] for name in shown}) for i, row in enumerate(part.tolist())
        ],
    }


def neighbours(snapshot: Snapshot, query: Query, key: str) -> dict[str, Any]:
    """Where a trial stands among those of a query: its place from 0, and the trials before and after it; a trial that
    is not among them is followed by the first."""
    rows, trials = found(snapshot, query), snapshot.trials
    result = snapshot.result(key).trial
    cell = trials.pairs.index((result.agent, result.task))
    here = np.flatnonzero((trials["cell"][rows] == cell) & (trials["index"][rows] == result.index))
    at = int(here[0]) if len(here) else -1
    keys = {
        name: _key(trials, int(rows[i])) for name, i in (("before", at - 1), ("after", at + 1)) if 0 <= i < len(rows)
    }
    if at < 0:
        keys.pop("before", None)
    return {"at": at, "found": len(rows), **keys}


def counterparts(snapshot: Snapshot, key: str) -> list[dict[str, Any]]:
    """The trials of other agents on the same task with the same index."""
    trials, own = snapshot.trials, snapshot.result(key).trial
    cells = [i for i, (agent, task) in enumerate(trials.pairs) if task == own.task and agent != own.agent]
    rows = np.flatnonzero(np.isin(trials["cell"], cells) & (trials["index"] == own.index))
    return [_row(snapshot, row, {}) for row in rows.tolist()]


def described(snapshot: Snapshot) -> dict[str, Any]:
    """What a table of these trials can show and be filtered by."""
    trials, cfg = snapshot.trials, snapshot.cfg
    cases = sorted({case for case in trials["case"] if case is not None})
    present = np.bincount(trials["outcome"], minlength=len(OUTCOMES))
    names = [*snapshot.metrics]
    return {
        "agents": [agent.name for agent in cfg.agents],
        "tasks": [task.name for task in cfg.tasks],
        "outcomes": {outcome.value: int(n) for outcome, n in zip(OUTCOMES, present, strict=True) if n},
        "cases": cases[:500],
        "filmed": int(_known(trials["video"]).sum()),
        "scored": snapshot.scored,
        "numbers": [name for name in PLAIN if name not in ("seed", "index") and (name != "score" or snapshot.scored)],
        "components": [f"score/{name}" for name in trials.components] if snapshot.scored else [],
        "metrics": [{"name": name, "unit": snapshot.units.get(name, ("", ""))[0]} for name in names],
        "total": trials.n,
    }


def _key(trials: Trials, row: int) -> str:
    agent, task = trials.pairs[trials["cell"][row]]
    return Trial(agent, task, int(trials["index"][row]), 0).key


def _row(snapshot: Snapshot, row: int, more: Mapping[str, Any]) -> dict[str, Any]:
    trials = snapshot.trials
    agent, task = trials.pairs[trials["cell"][row]]
    numbers = {name: _plain(trials[column][row]) for name, column in PLAIN.items() if name not in ("seed", "index")}
    if not snapshot.scored:
        numbers["score"] = None
    return {
        "key": _key(trials, row),
        "agent": agent,
        "task": task,
        "index": int(trials["index"][row]),
        "seed": str(int(trials["seed"][row])),
        "outcome": OUTCOMES[trials["outcome"][row]].value,
        "case": trials["case"][row],
        "video": trials["video"][row],
        "error": trials["error"][row],
        **numbers,
        **{name: _plain(value) for name, value in more.items()},
    }


def _plain(value: Any) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None
