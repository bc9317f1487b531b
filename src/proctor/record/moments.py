"""Pictures of trials, drawn from their records and kept in the run folder: `pictures/moments.json` says which.

They are drawn once, where the simulator is; whoever reads the folder later needs no simulator.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from proctor.foreign import read_json
from proctor.record.files import write_synced

LIST = "pictures/moments.json"
_FILE = re.compile(r"pictures/[^/\0\\]+\.png")


@dataclass(frozen=True)
class Shot:
    """A picture of one moment: `name` is start, worst or end, `words` say what happened, `file` is in the folder."""

    name: str
    words: str
    file: str


@dataclass(frozen=True)
class Portrait:
    """The pictures of one trial, made of the record with this hash; where there are none, `skipped` says why."""

    sha256: str
    shots: tuple[Shot, ...] = ()
    skipped: str | None = None


def read_portraits(folder: Path) -> dict[str, Portrait]:
    """The portraits of a run folder by the path of their record; none where there is no list, or a damaged one. A
    picture outside of `pictures/` is not believed."""
    try:
        found = read_json(folder / LIST)
        return {str(npz): _portrait(entry) for npz, entry in found.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def write_portraits(folder: Path, portraits: Mapping[str, Portrait]) -> None:
    """Write the list, and remove the pictures of an older one that it does not name."""
    old = {shot.file for portrait in read_portraits(folder).values() for shot in portrait.shots}
    kept = {shot.file for portrait in portraits.values() for shot in portrait.shots}
    known = {npz: asdict(portrait) for npz, portrait in sorted(portraits.items())}
    write_synced(folder / LIST, (json.dumps(known, indent=2) + "\n").encode())
    for file in old - kept:
        (folder / file).unlink(missing_ok=True)


def _portrait(entry: Any) -> Portrait:
    shots = tuple(Shot(str(s["name"]), str(s["words"]), _checked(s["file"])) for s in entry["shots"])
    skipped = entry["skipped"]
    return Portrait(str(entry["sha256"]), shots, None if skipped is None else str(skipped))


def _checked(file: Any) -> str:
    if not isinstance(file, str) or not _FILE.fullmatch(file):
        raise ValueError(f"{file!a} is no picture in pictures/")
    return file
