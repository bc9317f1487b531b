"""Where Python looks for modules, here and in the further interpreters that Proctor starts.

Python itself puts the folder of the script that is run, or the working directory, in front of its own library. Then a
file `random.py` or `numpy.py` that happens to lie there, or was put there, is imported in the place of the real one.
Proctor looks there last: what is installed comes first, and what only lies there is still found.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
"""The folder that this package lies in."""


def command(code: str, *arguments: str) -> list[str]:
    """The command line of an interpreter that looks for modules at `search_path()` and runs this code, which finds its
    arguments from `sys.argv[1]` on."""
    return [sys.executable, "-P", "-c", f"import sys; sys.path[:] = {search_path()!r}\n{code}", *arguments]


def search_path() -> list[str]:
    """`sys.path` with the folders that nobody asked for at its end. Folders that `PYTHONPATH` names, or that a program
    has put on the path by itself, stay where they are. This package is found in any case."""
    unasked = at_hand()
    places = {entry: _place(entry) for entry in sys.path}
    path = [entry or place for entry, place in places.items() if place not in unasked]
    if ROOT not in places.values():
        path.append(ROOT)
    return path + [folder for folder in unasked if folder in places.values()]


_ASKED_FOR: dict[str, bool] = {}
"""Folders of configs that are run, and of files that they name -> whether they came onto the path by that alone."""


def search_last(folders: Iterable[str]) -> None:
    """Have Python look for modules in these folders, too, after everything else: here, and in the interpreters that are
    started from now on."""
    for folder in map(_place, folders):
        absent = folder not in map(_place, sys.path)
        _ASKED_FOR.setdefault(folder, absent)
        if absent:
            sys.path.append(folder)


def is_neighbour(file: str | None) -> bool:
    """Whether a file lies in a folder that is on the path for the sake of some config alone."""
    return file is not None and _ASKED_FOR.get(os.path.dirname(_place(file)), False)


def at_hand() -> list[str]:
    """Folders in which a user's own modules may lie, to be searched last: the working directory, the folder of the
    script and those that a config names, unless `PYTHONPATH` names them or this package is there."""
    named = {_place(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry}
    main = sys.modules.get("__main__")
    script = getattr(main, "__file__", None)
    folders = [_place("")]
    if script is not None and getattr(main, "__spec__", None) is None:
        folders.append(os.path.dirname(_place(script)))
    folders += _ASKED_FOR
    return [folder for folder in dict.fromkeys(folders) if folder not in named and folder != ROOT]


def _place(entry: str) -> str:
    """The folder that an entry of the path means, by its real name."""
    try:
        return os.path.realpath(entry)
    except OSError:  # the working directory is gone
        return entry
