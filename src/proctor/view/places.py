"""What the viewer may show: the runs and pages below the folders that it was given, and nothing else.

Folders are looked through without following links. A run goes by the name of its folder, or by that and a few letters
where two are named alike. A file of a run is served only where its real place is inside the run.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from proctor.errors import InputError

LEDGER = "ledger.sqlite"
PAGES = {"goals.html": "goals", "leaderboard.html": "leaderboard", "compare.html": "compare"}
"""Pages that other verbs have written, by file name, and their kinds."""
DEEPEST, MOST = 5, 5000
"""Levels of folders that are looked through, and runs that are found, at most."""
FRESH_S = 2.0
_SERVED = re.compile(
    r"(trials/[^/]+\.npz|videos/[^/]+\.(mp4|webm|jpg)|pictures/[^/]+\.png|report\.(html|json|csv|md)|run\.log)"
)
"""Files of a run that are given to a browser."""


@dataclass(frozen=True)
class Page:
    """A page that lies below the folders."""

    name: str
    kind: str
    path: Path
    where: str


@dataclass
class _Found:
    at: float = -1e9
    runs: dict[str, Path] = field(default_factory=dict)
    pages: dict[str, Page] = field(default_factory=dict)


class Places:
    """The folders that were given. Raises InputError where one is none."""

    def __init__(self, folders: Sequence[Path]):
        for folder in folders:
            if not folder.is_dir():
                raise InputError(f"there is no folder {folder}; give one that has runs below it, or a run")
        self.folders = [Path(os.path.realpath(folder)) for folder in folders]
        self._found = _Found()
        self._lock = threading.Lock()

    def runs(self) -> dict[str, Path]:
        """Run folders by name, looked for again after a moment."""
        return self._look().runs

    def pages(self) -> dict[str, Page]:
        return self._look().pages

    def run(self, name: str) -> Path:
        """The folder of a run. Raises InputError where there is none of this name."""
        path = self.runs().get(name) or self._look(again=True).runs.get(name)
        if path is None:
            raise InputError(f'there is no run "{name}" below the folders that are shown')
        if not (path / LEDGER).is_file():
            raise InputError(f"the run {name} is gone: {path} has no {LEDGER} any more")
        return path

    def file(self, name: str, inside: str) -> Path:
        """A file of a run that may be shown. Raises InputError for any other, and where it is not there."""
        run = self.run(name)
        known = _SERVED.fullmatch(inside) is not None and "\0" not in inside
        path = Path(os.path.realpath(run / inside)) if known else None
        if path is None or not path.is_relative_to(run):
            raise InputError(f'"{inside}" is no file of a run that is shown')
        if not os.path.isfile(path):  # a name may be too long for a file system
            raise InputError(f'the run {name} has no file "{inside}"')
        return path

    def _look(self, again: bool = False) -> _Found:
        with self._lock:
            if again or time.monotonic() - self._found.at > FRESH_S:
                self._found = self._searched()
            return self._found

    def _searched(self) -> _Found:
        paths: dict[Path, None] = {}
        pages: dict[str, Page] = {}
        for folder in self.folders:
            for path, names in _walk(folder):
                if LEDGER in names and len(paths) < MOST:
                    paths[path] = None
                for name in PAGES.keys() & names:
                    key = hashlib.sha256(str(path / name).encode(errors="surrogatepass")).hexdigest()[:12]
                    pages[key] = Page(key, PAGES[name], path / name, os.path.relpath(path, folder))
        named: dict[str, Path] = {}
        twice = _twice([path.name for path in paths])
        for path in paths:
            mark = hashlib.sha256(str(path).encode(errors="surrogatepass")).hexdigest()[:6]
            named[f"{path.name}~{mark}" if path.name in twice else path.name] = path
        return _Found(time.monotonic(), named, pages)


def _twice(names: Sequence[str]) -> set[str]:
    seen: set[str] = set()
    return {name for name in names if name in seen or seen.add(name)}


def _walk(folder: Path) -> list[tuple[Path, set[str]]]:
    """Folders and the names of the files in each; what is below a run is its own."""
    found, todo = [], [(folder, 0)]
    while todo:
        here, depth = todo.pop()
        try:
            with os.scandir(here) as entries:
                listed = list(entries)
        except OSError:
            continue
        files = {entry.name for entry in listed if entry.is_file(follow_symlinks=False)}
        found.append((here, files))
        if LEDGER not in files and depth < DEEPEST:
            todo += [
                (Path(entry.path), depth + 1)
                for entry in listed
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
            ]
    return found
