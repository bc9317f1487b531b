"""Where Proctor keeps what it can make or fetch again."""

from __future__ import annotations

import os
from pathlib import Path


def folder(name: str) -> Path:
    """The folder called `name` in the user's cache folder: `PROCTOR_CACHE`, else `XDG_CACHE_HOME`, else `~/.cache`. It
    need not exist."""
    base = os.environ.get("PROCTOR_CACHE") or os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "proctor" / name
