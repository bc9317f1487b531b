"""One trial as plain data: what came of it, what made its score, what the log says of it, and how to run it again."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.metrics import describe
from proctor.metrics.registry import describe_of_family
from proctor.view import table
from proctor.view.snapshot import SCENE_FORCE, Snapshot
from proctor_host.result import TrialResult

LOG_BYTES, LOG_LINES = 4 << 20, 200
WORDS = 400
"""Letters of a constant that is shown as text."""


def trial_keys(snapshot: Snapshot, key: str, query: table.Query) -> dict[str, Any]:
    """What the page of a trial shows beside its signals."""
    result = snapshot.result(key)
    trial = result.trial
    return {
        "key": key,
        "agent": trial.agent,
        "task": trial.task,
        "index": trial.index,
        "seed": str(trial.seed),
        "outcome": result.outcome.value,
        "scored": result.outcome.scored,
        "success": result.success,
        "case": result.case,
        "steps": result.steps_total,
        "max_steps": result.max_steps,
        "first_success": result.first_success,
        "steps_to_success": result.steps_to_success,
        "reward": _finite(result.episode_reward),
        "wall_time_s": _finite(result.wall_time_s),
        "sim_time_s": _finite(result.sim_time_s),
        "attempts": result.attempts,
        "clipped_steps": result.clipped_steps,
        "after_stop": result.after_stop,
        "error": result.error,
        "faults": snapshot.read(lambda ledger: ledger.faults(trial.agent, trial.task, trial.index)),
        "video": result.video,
        "npz": result.npz,
        "digest": result.digest,
        "score": _score(snapshot, result),
        "metrics": _metrics(snapshot, result),
        "log": log_lines(snapshot.path / "run.log", key),
        "imported": imported_from(snapshot),
        "commands": [] if imported_from(snapshot) else commands(snapshot.path, key, recorded=result.npz is not None),
        "counterparts": table.counterparts(snapshot, key),
        "neighbours": table.neighbours(snapshot, query, key),
    }


def _metrics(snapshot: Snapshot, result: TrialResult) -> list[dict[str, Any]]:
    """The metrics of a trial; not those that no trial of the run has a number for."""
    known = {info.name: info for info in describe()}
    found = []
    for name, value in sorted(result.metrics.items()):
        number = _finite(value)
        if number is None and name not in snapshot.metrics:
            continue
        info = known.get(name) or describe_of_family(name)
        about = {} if info is None else {"unit": info.unit, "direction": info.direction, "about": info.doc}
        if about.get("unit") == SCENE_FORCE:
            about["unit"] = snapshot.force_unit(result)
        found.append({"name": name, "value": number, **about})
    return found


def _score(snapshot: Snapshot, result: TrialResult) -> dict[str, Any] | None:
    """The total and what each component contributed to it, where the scoring is a weighted sum: value times weight. A
    scoring that adds up terms has components that are weighted already; one that divides by the sum of its weights has
    them as shares of that sum here."""
    if not snapshot.scored:
        return None
    score, scoring = snapshot.scoring.score(result), snapshot.scoring
    terms = scoring.term_weights(result.trial.task)
    weights = _weights(scoring.settings().get("options") or {}, score.components)
    known = {name: value for name, value in score.components.items() if value is not None and name in weights}
    total = sum(weights[name] for name in known)
    parts = []
    for name, value in score.components.items():
        part: dict[str, Any] = {"name": name, "value": value}
        if name in terms:
            own = None if value is None or not terms[name] else value / terms[name]
            part |= {"value": own, "weight": terms[name], "contribution": value}
        elif name in known and total > 0:
            norm = total if (scoring.settings().get("options") or {}).get("normalize_weights", True) else 1.0
            part |= {"weight": weights[name] / norm, "contribution": weights[name] * known[name] / norm}
        parts.append(part)
    floor = result.outcome.broken_by_policy
    return {"name": scoring.name, "unit": scoring.unit, "total": score.total, "parts": parts, "floor": floor}


def _weights(options: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, float]:
    found = {name: options.get(f"w_{name}") for name in names}
    return {name: float(value) for name, value in found.items() if isinstance(value, int | float)}


def log_lines(path: Path, key: str) -> list[str]:
    """The last lines of a run's log that name a trial, and what follows them without a date of its own."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - LOG_BYTES))
            lines = file.read(LOG_BYTES).decode(errors="replace").splitlines()
    except OSError:
        return []
    found: list[str] = []
    inside = False
    for line in lines:
        dated = line[:4].isdigit() and line[4:5] == "-"
        inside = (f"{key} " in f"{line} " or f"{key}:" in line) if dated else inside
        if inside:
            found.append(line)
    return found[-LOG_LINES:]


def imported_from(snapshot: Snapshot) -> str | None:
    """The file that a run's outcomes were imported from: it has no more than these, and nothing to run again."""
    found = snapshot.read(lambda ledger: ledger.get_meta("imported_from"))
    return None if found is None else str(found)


def commands(run: Path, key: str, *, recorded: bool) -> list[dict[str, str]]:
    """What to type to see the trial again; exports where its arrays were recorded."""
    where, which = shlex.quote(str(run)), shlex.quote(key)
    again = [
        {"what": "Run it again and compare the bytes", "command": f"proctor replay {where} {which}"},
        {"what": "Film it", "command": f"proctor replay {where} {which} --video trial.mp4"},
    ]
    exports = [
        {"what": "Its signals as CSV", "command": f"proctor export {where} {which} --csv trial.csv"},
        {"what": "For Rerun", "command": f"proctor export {where} {which} --rerun trial.rrd"},
    ]
    return [*again, *exports] if recorded else again


def constants(arrays: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """What was recorded once of a trial: its value where it is short, else its shape."""
    found = []
    for name, array in sorted(arrays.items()):
        shape = "x".join(map(str, array.shape)) or "one value"
        small = array.size <= 8 or array.dtype.kind in "US"
        text = np.array2string(array, max_line_width=10**6, precision=5, threshold=64) if small else ""
        text = str(array) if array.ndim == 0 else text
        found.append({"name": name, "shape": shape, "kind": str(array.dtype), "text": text[:WORDS]})
    return found


def episode_of(snapshot: Snapshot, key: str) -> tuple[TrialResult, Any]:
    """A trial and its record. Raises InputError, with the way to have one, where it has none."""
    result = snapshot.result(key)
    source = imported_from(snapshot) if result.npz is None else None
    if source is not None:
        raise InputError(f"This trial was imported from {source}, which has outcomes and no signals.")
    if result.npz is None:
        raise InputError(
            "No arrays were recorded of this trial: the run has `record: summary`, or the trial was not scored. Run "
            "with `record: series`, or run this trial again: proctor replay."
        )
    return result, snapshot.run.episode(result)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
