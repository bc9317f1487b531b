"""Modules of the engine's own tree, for an interpreter in which Proctor is not installed.

A suite's environment is a module of Proctor's, or of a package beside it. It needs numpy, the simulator and a few
modules that need no more than that. They are read from where the engine has them; packages on the way are not run,
since what they offer is for the engine.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from typing import Any, Mapping, Sequence

PACKAGE = "proctor"
SUITES = f"{PACKAGE}.suites"
BARE = (PACKAGE, SUITES, f"{PACKAGE}.policies")
"""Packages that are not run; those of single suites, one below theirs, are not run either."""


class Finder(importlib.abc.MetaPathFinder):
    """Finds `proctor` and what is in it below the folder `root`."""

    def __init__(self, root: str):
        self._root = root

    def find_spec(self, name: str, path: Sequence[Any] | None = None, target: Any = None) -> Any:
        if name.partition(".")[0] != PACKAGE:
            return None
        place = os.path.join(self._root, *name.split("."))
        if os.path.isdir(place):
            if name in BARE or name.rpartition(".")[0] == SUITES:
                spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
                spec.submodule_search_locations = [place]
                return spec
            file, inside = os.path.join(place, "__init__.py"), [place]
            return importlib.util.spec_from_file_location(name, file, submodule_search_locations=inside)
        return importlib.util.spec_from_file_location(name, f"{place}.py") if os.path.isfile(f"{place}.py") else None


def serve_modules(root: str) -> None:
    """From now on, `proctor` is what lies in this folder."""
    sys.meta_path.insert(0, Finder(root))


def offer(package: str, homes: Mapping[str, str]) -> None:
    """Have a package that is not run offer these names, each from its module, when they are first asked for."""

    def find(name: str) -> Any:
        if name not in homes:
            known = ", ".join(sorted(homes))
            raise AttributeError(f"in a runtime, {package!r} has no {name!r}; it offers {known}")
        return getattr(importlib.import_module(homes[name]), name)

    vars(importlib.import_module(package))["__getattr__"] = find
