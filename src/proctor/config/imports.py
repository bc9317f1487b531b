"""Which files beside it a Python file imports, read from its text: nothing is run.

Only what is written as an import statement is found. A file may also import by name while it runs; that can be seen by
reading it alone.
"""

from __future__ import annotations

import ast
import os
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from proctor.config.paths import find_module

OWN = Path(__file__).parents[1]
"""The folder of Proctor itself."""


def imported_files(file: Path) -> list[Path]:
    """The files that importing `file` would import in turn, and theirs, without those that are installed."""
    found: dict[Path, None] = {}
    waiting = [file]
    while waiting:
        source = waiting.pop()
        for other in _direct(source):
            if other != file and other not in found and not is_installed(other):
                found[other] = None
                waiting.append(other)
    return sorted(found)


def is_installed(file: Path) -> bool:
    """Whether a file is part of Python, of an installed package, or of Proctor."""
    places = (OWN, *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")))
    real = Path(os.path.realpath(file))
    return any(real.is_relative_to(os.path.realpath(place)) for place in places)


def _direct(file: Path) -> Iterator[Path]:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from module_files(alias.name, file.parent)
        elif isinstance(node, ast.ImportFrom):
            folder = file.parent
            for _ in range(node.level - 1):
                folder = folder.parent
            for name in ("", *(alias.name for alias in node.names)):
                dotted = ".".join(part for part in (node.module, name) if part)
                if dotted:
                    yield from module_files(dotted, folder, relative=node.level > 0)


def module_files(name: str, folder: Path, *, relative: bool = False) -> Iterator[Path]:
    """The files that `import name` in a file of this folder runs: the module's, and those of the packages around it."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        spec = None if relative else find_module(".".join(parts[:count]))
        if spec is not None and spec.has_location and spec.origin is not None:
            yield Path(spec.origin)
            continue
        place = folder.joinpath(*parts[:count])
        yield from (path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file())
