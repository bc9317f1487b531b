"""Names that a package offers, imported when they are first used, so that importing the package is cheap."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A `__getattr__` for `package`: module -> the names that come from there, with blanks between them. A name
    that comes from `package` itself is a module of it."""
    where = {name: module for module, names in homes.items() for name in names.split()}

    def find(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if where[name] == package:
            return importlib.import_module(f"{package}.{name}")
        return getattr(importlib.import_module(where[name]), name)

    return find
