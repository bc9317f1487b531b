"""Files that an agent names: finding them, and their hashes."""

from __future__ import annotations

import hashlib
from pathlib import Path

from proctor.errors import InputError
from proctor.registry import nearest


def find_file(name: str, base: Path | None, what: str) -> Path:
    """The file called `name`, relative to `base` (the config's folder). Raises InputError where there is none."""
    path = Path(name).expanduser()
    if base is not None:
        path = base / path
    if path.is_file():
        return path
    siblings = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    hint = nearest(path.name, siblings)
    found = f"{path} is a folder" if path.is_dir() else f"no file {path}"
    raise InputError(f"{what}: {found}" + (f'; did you mean "{hint}"?' if hint and not path.is_dir() else ""))


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
