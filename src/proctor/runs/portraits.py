"""Pictures of the worst trials of a run, drawn from their records where the simulator is, and kept in its folder."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from proctor.config.models import EvalConfig
from proctor.errors import InputError
from proctor.record.files import write_synced
from proctor.record.moments import LIST, Portrait, Shot, read_portraits, write_portraits
from proctor.registry import SUITES
from proctor.rendering import offscreen_backend
from proctor.report import Report
from proctor.report.draw.png import png
from proctor.report.model import Picked
from proctor.report.sections.moments import Moments

log = logging.getLogger(__name__)
PROGRAM = ("-m", "proctor.runs.portraying")
MOST, LIMIT_S = 3, 120.0
"""How many trials are drawn, and how long that may take in all."""


@dataclass(frozen=True)
class Wanted:
    """A trial to draw, by its record and the hash of that."""

    trial: Picked
    npz: str
    sha256: str


def portray(folder: Path, cfg: EvalConfig, report: Report) -> None:
    """Draw the worst trials of a report that have not been drawn yet, and note why others have no picture. A trial
    keeps its pictures as long as its record is the same; nothing is drawn where no suite of the run can."""
    shown = any(shown.section.key == Moments.key for shown in report.sections)
    wanted = _wanted(folder, cfg, report) if cfg.report.pictures and shown else []
    known = read_portraits(folder)
    kept = {w.npz: known[w.npz] for w in wanted if _is_whole(folder, known.get(w.npz), w.sha256)}
    missing = [w for w in wanted if w.npz not in kept]
    if not missing and set(kept) == set(known):
        return
    (folder / LIST).parent.mkdir(exist_ok=True)
    with TemporaryDirectory(prefix="proctor-pictures-") as into:
        made = _drawn(folder, cfg, missing, Path(into)) if missing else {}
    write_portraits(folder, kept | made)


def _wanted(folder: Path, cfg: EvalConfig, report: Report) -> list[Wanted]:
    """The worst trials whose suites say how they looked, where their records are there. Code that a config names is
    never run for a picture: only registered suites draw."""
    found = []
    for trial in report.worst:
        name = cfg.task(trial.task).suite
        drawable = name in SUITES.names() and SUITES.load(name).portrayer is not None
        if trial.npz is None or not drawable or len(found) == MOST:
            continue
        try:
            found.append(Wanted(trial, trial.npz, hashlib.sha256((folder / trial.npz).read_bytes()).hexdigest()))
        except OSError:
            continue
    return found


def _is_whole(folder: Path, portrait: Portrait | None, sha256: str) -> bool:
    if portrait is None or portrait.skipped is not None or portrait.sha256 != sha256:
        return False
    return all(os.path.isfile(folder / shot.file) for shot in portrait.shots)


def _drawn(folder: Path, cfg: EvalConfig, wanted: Sequence[Wanted], into: Path) -> dict[str, Portrait]:
    keys = {str(place): w for place, w in enumerate(wanted)}
    try:
        found = _asked({"into": str(into), "tasks": _tasks(folder, cfg, keys)})
    except (OSError, ValueError, subprocess.SubprocessError, InputError) as error:
        log.info("trials were not drawn: %s", error)
        return {w.npz: Portrait(w.sha256, skipped=str(error)) for w in wanted}
    return {w.npz: _kept(folder, w, key, found.get(key, {"skipped": "no answer"}), into) for key, w in keys.items()}


def _tasks(folder: Path, cfg: EvalConfig, keys: dict[str, Wanted]) -> list[dict[str, Any]]:
    """The trials, those with equal options together: what draws them is made once."""
    tasks: dict[str, dict[str, Any]] = {}
    for key, w in keys.items():
        task = cfg.task(w.trial.task).for_agent(cfg.agent(w.trial.agent))
        same = json.dumps([task.suite, task.options], sort_keys=True)
        made = tasks.setdefault(same, {"suite": task.suite, "options": task.options, "trials": {}})
        made["trials"][key] = str((folder / w.npz).resolve())
    return list(tasks.values())


def _asked(job: dict[str, Any]) -> dict[str, Any]:
    """What the drawing process says. Raises InputError where it died or took too long."""
    backend = offscreen_backend(os.environ)
    given = {**os.environ, **({"MUJOCO_GL": backend} if backend and not os.environ.get("MUJOCO_GL") else {})}
    program = [sys.executable, *PROGRAM]
    try:
        ran = subprocess.run(program, input=json.dumps(job), env=given, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        raise InputError(f"drawing took longer than {LIMIT_S:g} s") from None
    if ran.returncode != 0:
        last = (ran.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise InputError(f"the process that draws ended with status {ran.returncode}: {last}")
    return json.loads(ran.stdout.strip().splitlines()[-1])


def _kept(folder: Path, wanted: Wanted, key: str, answer: dict[str, Any], into: Path) -> Portrait:
    """The portrait of a trial, its pictures in the folder."""
    if "skipped" in answer:
        log.info("%s was not drawn: %s", wanted.trial.name, answer["skipped"])
        return Portrait(wanted.sha256, skipped=answer["skipped"])
    shots = []
    for name, words in answer["moments"]:
        file = f"pictures/{Path(wanted.npz).stem}.{name}.png"
        write_synced(folder / file, png(np.load(into / f"{key}.{name}.npy")))
        shots.append(Shot(name, words, file))
    return Portrait(wanted.sha256, tuple(shots))
