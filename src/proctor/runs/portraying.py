"""The program that draws recorded trials, in a process of its own: what a graphics driver does there, a run survives.

It reads a job as JSON from its standard input and writes pictures into the job's folder `into`, each as an `.npy`, and
what came of each trial as JSON to standard output: a list of moments, or why there is none.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import BREAKS, InputError
from proctor.foreign import read_npz
from proctor.registry import import_object
from proctor.suites import find_suite
from proctor.suites.protocol import Portrayer


def main() -> None:
    """Do the job: `{"into": FOLDER, "tasks": [{"suite": ..., "options": ..., "trials": {KEY: RECORD}}]}`."""
    job = json.load(sys.stdin)
    found: dict[str, Any] = {}
    with contextlib.redirect_stdout(sys.stderr):
        for task in job["tasks"]:
            found |= _of_task(task, Path(job["into"]))
    print(json.dumps(found))


def _of_task(task: dict[str, Any], into: Path) -> dict[str, Any]:
    """What came of the trials of one task."""
    try:
        portrayer = _portrayer(task)
    except BREAKS as error:
        return {key: {"skipped": _reason(error)} for key in task["trials"]}
    with contextlib.closing(portrayer):
        return {key: _of_trial(portrayer, key, Path(record), into) for key, record in task["trials"].items()}


def _portrayer(task: dict[str, Any]) -> Portrayer:
    suite = find_suite(task["suite"])
    if suite.portrayer is None:
        raise InputError(f'the suite "{task["suite"]}" does not draw trials')
    return import_object(suite.portrayer)(suite.Options.model_validate(task["options"]))


def _of_trial(portrayer: Portrayer, key: str, record: Path, into: Path) -> dict[str, Any]:
    try:
        moments = portrayer.moments(read_npz(record))
        for moment in moments:
            np.save(into / f"{key}.{moment.name}.npy", moment.picture)
        return {"moments": [[moment.name, moment.words] for moment in moments]}
    except BREAKS as error:
        return {"skipped": _reason(error)}


def _reason(error: BaseException) -> str:
    words = next(iter(str(error).splitlines()), "")
    return words if isinstance(error, InputError) and words else f"{type(error).__name__}: {words}"


if __name__ == "__main__":
    main()
