"""Finding things by name: registered parts, and objects by import string.

An import string is `package.module:Name` or `path/to/file.py:Name`. A registry maps names to import strings, so that
listing costs no import; other packages add to it through entry points of the same group.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import importlib.util
import sys
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from proctor.errors import InputError


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that `word` most likely meant."""
    hits = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return hits[0] if hits else None


class Registry:
    """Named parts of one kind, e.g. suites."""

    def __init__(self, kind: str, group: str, builtin: dict[str, str]):
        self.kind, self.group, self._builtin = kind, group, builtin

    def names(self) -> list[str]:
        return sorted({*self._builtin, *(e.name for e in importlib.metadata.entry_points(group=self.group))})

    def __contains__(self, name: str) -> bool:
        """Whether there is a part of this name; without a look at other packages where it is a built-in one."""
        return name in self._builtin or name in self.names()

    def target(self, name: str) -> str:
        """The import string behind a name."""
        if name in self._builtin:
            return self._builtin[name]
        for entry in importlib.metadata.entry_points(group=self.group):
            if entry.name == name:
                return entry.value
        hint = nearest(name, self.names())
        raise InputError(
            f'unknown {self.kind} "{name}"'
            + (f'; did you mean "{hint}"?' if hint else "")
            + f" (known: {', '.join(self.names())})"
        )

    def load(self, name: str) -> Any:
        return import_object(self.target(name))


def import_object(target: str, base: Path | None = None) -> Any:
    """The object behind an import string. File paths, and modules not on the path, are looked for under `base`."""
    module_name, _, attribute = target.partition(":")
    if not module_name or not attribute:
        raise InputError(f'"{target}" is not an import string; write package.module:Name or path/to/file.py:Name')
    module = _import_file(module_name, base) if module_name.endswith(".py") else _import_module(module_name, base)
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            hint = nearest(part, dir(found))
            raise InputError(
                f'"{module_name}" has no "{part}"' + (f'; did you mean "{hint}"?' if hint else "") + f" (from {target})"
            )
        found = getattr(found, part)
    return found


def import_file(path: Path) -> Any:
    """The module of a Python file; the same file is run once per process."""
    return _import_file(str(path), None)


def _import_module(name: str, base: Path | None) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
            raise
    if base is not None and (base / Path(*name.split("."))).with_suffix(".py").is_file():
        return _import_file(str(Path(*name.split(".")).with_suffix(".py")), base)
    raise InputError(f'no module "{name}" on the Python path' + (f" or under {base}" if base else ""))


def _import_file(name: str, base: Path | None) -> Any:
    path = Path(name) if base is None else base / name
    if not path.is_file():
        raise InputError(f"no file {path}")
    path = path.resolve()
    module_name = f"proctor_user_{path.stem}_{zlib.crc32(str(path).encode()):08x}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module
