"""Names that a package offers, imported when they are first used, so that importing the package is cheap."""

from __future__ import annotations

import ast
import functools
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any


def lazily(package: str, file: str) -> Callable[[str], Any]:
    """A `__getattr__` for `package`, whose source is `file`: the names that it imports under `if TYPE_CHECKING:` are
    imported when they are first asked for, so that the block says once, for reader, checker and interpreter, where
    each name comes from."""

    @functools.cache
    def homes() -> dict[str, str]:
        blocks = (node for node in ast.parse(Path(file).read_text()).body if isinstance(node, ast.If))
        found = (node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom))
        return {alias.name: str(node.module) for node in found for alias in node.names}

    def find(name: str) -> Any:
        if name.startswith("__") or name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes()[name] == package:
            return importlib.import_module(f"{package}.{name}")
        return getattr(importlib.import_module(homes()[name]), name)

    return find
