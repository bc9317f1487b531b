"""`latest` in the place of a run folder: the newest run below an output root.

`latest` is the run that was begun last below `results/eval_runs`, `latest~1` the one before it, and so on;
`DIR/latest` looks below DIR. A folder that is really called so comes first.
"""

from __future__ import annotations

import contextlib
import os
import re
from datetime import datetime
from pathlib import Path

from proctor.config.models import EvalConfig
from proctor.errors import InputError
from proctor.record.ledger import Ledger

_LATEST = re.compile(r"latest(?:~(\d{1,6}))?")
_STAMP = re.compile(r"(\d{8}-\d{6})_.*?(?:-(\d+))?")
MADE_AT = "made_at"
"""The ledger's note of when its run was begun."""


LEDGER = "ledger.sqlite"


def found_run(text: str, mark: str = LEDGER) -> str:
    """The folder that `latest`, `latest~1`, `DIR/latest` and so on mean, among those that have the file `mark`; any
    other text as it is. Raises InputError where there is no such run."""
    folder, name = os.path.split(text)
    match = _LATEST.fullmatch(name)
    if match is None or os.path.lexists(text):
        return text
    root, back = Path(folder or EvalConfig.model_fields["output_root"].default), int(match[1] or 0)
    runs = runs_below(root, mark)
    if not runs:
        elsewhere = "" if folder else "; runs of another output_root are DIR/latest"
        raise InputError(f'"{text}": there is no run below {root}{elsewhere}')
    if back >= len(runs):
        counted = "is 1 run" if len(runs) == 1 else f"are {len(runs)} runs"
        raise InputError(f'"{text}": there {counted} below {root}')
    return str(runs[back])


def runs_below(root: Path, mark: str = LEDGER) -> list[Path]:
    """The folders in this folder that have the file `mark`, the one that was begun last first."""
    if not root.is_dir():
        return []
    found = (folder for folder in root.iterdir() if (folder / mark).is_file())
    return sorted(found, key=lambda run: _begun(run, mark), reverse=True)


def _begun(run: Path, mark: str) -> tuple[datetime, int, str]:
    """When a run was begun, by its ledger, or else by the name of its folder or the age of its config."""
    stamp = _STAMP.fullmatch(run.name)
    number = int(stamp[2] or 1) if stamp else 0
    with contextlib.suppress(InputError, ValueError, TypeError), Ledger.open(run / LEDGER) as ledger:
        return datetime.fromisoformat(ledger.get_meta(MADE_AT)).astimezone(), number, run.name
    if stamp is not None:
        with contextlib.suppress(ValueError):
            return datetime.strptime(stamp[1], "%Y%m%d-%H%M%S").astimezone(), number, run.name
    return datetime.fromtimestamp((run / mark).stat().st_mtime).astimezone(), number, run.name
