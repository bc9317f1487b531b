"""Joining the folders of a sharded run into one run.

Shards must be of one run: the same config (what only changes how trials run aside), the same model files. A trial
that is scored in two folders must have the same bytes in both. What no folder has stays missing, and `proctor resume`
runs it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

from proctor.config.models import EvalConfig
from proctor.errors import InputError
from proctor.plan.plan import Plan
from proctor.plan.resume import differences, is_free
from proctor.record.ledger import Ledger
from proctor.record.records import damage
from proctor.record.rundir import RunDir
from proctor.record.video import poster_of
from proctor.rollout.whereabouts import Whereabouts
from proctor.runs import pinning
from proctor.runs.conditions import added
from proctor.runs.noting import join_protocols
from proctor.runs.places import keep_locks
from proctor.runs.report import write_report
from proctor_host.result import TrialResult

BATCH = 256
VIDEO = re.compile(r"videos/[^/\0]+\.mp4")


def merge(paths: Sequence[str | Path], *, trust: bool = False) -> RunDir:
    """A new run folder with everything that the given ones have, and its reports. `trust`: code that they are scored
    with, too."""
    merged = joined(paths, {}, trust=trust)
    write_report(merged)
    return merged


def joined(paths: Sequence[str | Path], changes: Mapping[str, str], *, trust: bool = False) -> RunDir:
    """As `merge`, yet without reports. `changes`: another `name` or `output_root` of the new run."""
    if len(paths) < 2:
        raise InputError("name at least two run folders to merge")
    runs = [RunDir.open(path, trust=trust) for path in paths]
    cfg = _common_config(runs)
    prints = [_noted(run, "fingerprints", {}) for run in runs]
    _check_files(runs, prints)
    cfg = cfg.model_copy(update=dict(changes))
    merged = RunDir.create(cfg, datetime.now())
    with merged.locked(), merged.ledger() as ledger:
        ledger.set_meta("shard", "1/1")
        ledger.set_meta("fingerprints", prints[0])
        ledger.set_meta(pinning.KEY, _noted(runs[0], pinning.KEY, {}))
        join_protocols(ledger, runs)
        ledger.set_meta("by_seed", _noted(runs[0], "by_seed", []))
        ledger.add(Plan(cfg).placed())
        for run in runs:
            _copy(run, merged, ledger)
            _copy_places(run, ledger)
        ledger.set_meta("seconds", sum(_noted(run, "seconds", 0.0) for run in runs))
        ledger.set_meta("rows", reduce(added, (_noted(run, "rows", {}) for run in runs)))
        ledger.set_meta("initial_states", reduce(or_, (_noted(run, "initial_states", {}) for run in runs)))
        ledger.set_meta("looks", sorted({look for run in runs for look in _noted(run, "looks", [])}))
        ledger.set_meta("merged_from", [str(run.path) for run in runs])
    sessions = [session for run in runs for session in run.environment().sessions]
    merged.write_json("environment.json", {"sessions": sessions, "current": sessions[-1] if sessions else {}})
    keep_locks(merged, (runtime for session in sessions for runtime in session.get("runtimes", ())))
    return merged


def _common_config(runs: Sequence[RunDir]) -> EvalConfig:
    first = runs[0].config()
    for run in runs[1:]:
        differing = [
            f"{key}: {a!r} in {runs[0].path}, {b!r} in {run.path}"
            for key, a, b in differences(first.model_dump(mode="json"), run.config().model_dump(mode="json"))
            if not is_free(key)
        ]
        if differing:
            raise InputError("these folders are not shards of one run; they differ in\n  " + "\n  ".join(differing))
    return first


def _check_files(runs: Sequence[RunDir], prints: Sequence[dict[str, object]]) -> None:
    """Raise InputError where a folder's agents had other files than those of the first."""
    for run, own in zip(runs, prints, strict=True):
        changed = [name for name in own if own[name] != prints[0].get(name)]
        if changed:
            raise InputError(
                f"{run.path} used other files for {', '.join(changed)} than {runs[0].path}; they cannot be merged"
            )


def _noted(run: RunDir, key: str, default: Any) -> Any:
    with run.ledger() as ledger:
        return ledger.get_meta(key, default)


def _copy(run: RunDir, merged: RunDir, ledger: Ledger) -> None:
    results: list[TrialResult] = []
    for result in run.results():
        known = ledger.result(result.trial.agent, result.trial.task, result.trial.index)
        if known is not None and not _replaces(known, result, run):
            continue
        _copy_files(run, merged, result)
        results.append(result)
        if len(results) >= BATCH:
            ledger.finish(results)
            results = []
    ledger.finish(results)


def _copy_places(run: RunDir, ledger: Ledger) -> None:
    """Where the trials of a part were done, if it says so."""
    with run.ledger() as part:
        where = Whereabouts(ledger.get_meta("nodes", []))
        numbers = [where.number(node) for node in part.get_meta("nodes", [])]
        rows = [
            (trial, numbers[worker], None if policy is None else numbers[policy])
            for trial, worker, policy in part.placed()
        ]
    ledger.place(rows, where.nodes)


def _replaces(known: TrialResult, result: TrialResult, run: RunDir) -> bool:
    """Whether a trial's second result is the one to keep: where the first attempt was broken by the infrastructure."""
    if not (known.outcome.scored and result.outcome.scored):
        return result.outcome.scored
    if known.digest != result.digest:
        raise InputError(
            f"trial {result.trial.key} differs between the folders (again in {run.path}): the environment or "
            "the policy is not reproducible, or was changed; `proctor replay` shows which"
        )
    return False


def _copy_files(run: RunDir, merged: RunDir, result: TrialResult) -> None:
    why = None if result.npz is None else damage(run.path, result.npz, (result.npz_size, result.npz_crc))
    if why is None and result.video is not None and not VIDEO.fullmatch(result.video):
        why = f"its video is said to be {result.video!a}, which is no file in videos/"
    if why is not None:
        raise InputError(
            f"the record of trial {result.trial.key} in {run.path} is damaged: {why}. Put it back as it was, or run "
            f"such trials again: proctor resume {run.path}"
        )
    for name in filter(None, (result.npz, result.video)):
        (merged.path / name).parent.mkdir(exist_ok=True)
        try:
            shutil.copy2(run.path / name, merged.path / name)
        except FileNotFoundError:
            raise InputError(
                f"{run.path / name}, which the ledger names for trial {result.trial.key}, is missing; restore it"
            ) from None
    if result.video is not None and poster_of(run.path / result.video).is_file():
        shutil.copy2(poster_of(run.path / result.video), poster_of(merged.path / result.video))
