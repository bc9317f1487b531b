"""All code that a config would run, found without running any of it: for a config from somebody else.

The config is read as it was written, not resolved: to resolve it is to import its suites and loggers. So this lists
what a run could use, which may be more than it does. Of the files beside a Python file only those are found that are
written as an import statement. A file may also import by name while it runs; that can be seen by reading it alone.
"""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.metadata
import os
import shutil
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.config.code import Code, code_in, part_code
from proctor.config.load import read_config
from proctor.config.paths import (
    Context,
    absolute,
    expand_pattern,
    find_module,
    import_parts,
    is_pattern,
    resolve_options,
)
from proctor.config.problems import Problems
from proctor.config.runtime import CHOSEN
from proctor.policies.files import sha256
from proctor.references import is_reference
from proctor.registry import BACKENDS, LOGGERS, RUNTIMES, SCORINGS, SUITES

_ONLY_IF_NAMED = {registry.group for registry in (BACKENDS, LOGGERS, RUNTIMES, SCORINGS, SUITES)}
"""Groups whose parts are loaded where a config names them; parts of other groups are loaded in any run."""
_NAMES_CODE = (
    "policy",
    "preprocessor",
    "suite",
    "mode",
    "metrics",
    "kind",
    "target",
    "module",
    "algorithm",
    "function",
    "wrappers",
    "id",
    "benchmark",
)
"""Keys whose import strings are code, whether it can be found or not."""


@dataclass(frozen=True)
class Listed:
    """One piece of code. `source` says what it is: a file, a package, part of Python; `file` and `sha256` are None
    where there is no file."""

    where: str
    target: str
    source: str
    file: str | None
    sha256: str | None

    @property
    def found(self) -> bool:
        return self.source != NOT_FOUND


NOT_FOUND = "not found"


def untrusted_code(path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> list[Listed]:
    """Everything that running this config would import or unpickle, in the order of the config. Raises ConfigError
    where the file is no YAML."""
    data, base = read_config(path, overrides)
    resolved = _absolute(data, base)
    everything = code_in(resolved)
    named = [code for code in everything if not _is_own(code)]
    listed = [_listed(code) for code in named]
    listed += _beside(named, base)
    listed += _missing(resolved, {code.target for code in everything})
    listed += _runtimes(resolved, base)
    listed += [_listed(code, origin) for code, origin in _plug_ins(resolved)]
    return list(dict.fromkeys(listed))


def _absolute(data: dict[str, Any], base: Path) -> dict[str, Any]:
    """The config with its paths absolute, an agent with a pattern once for each file."""
    resolved = resolve_options(data, (), Context(base, Problems("")))
    if isinstance(agents := resolved.get("agents"), list):
        resolved["agents"] = [one for entry in agents for one in _each_checkpoint(entry, base)]
    return resolved


def _each_checkpoint(entry: Any, base: Path) -> Iterator[Any]:
    checkpoint = entry.get("checkpoint") if isinstance(entry, dict) else None
    if not isinstance(checkpoint, str) or "://" in checkpoint:
        yield entry
    elif is_pattern(checkpoint, base):
        yield from ({**entry, "checkpoint": file} for file in expand_pattern(checkpoint, base).values())
    else:
        yield {**entry, "checkpoint": os.path.join(base, os.path.expanduser(checkpoint))}


def _is_own(code: Code) -> bool:
    """Whether the code comes with Proctor."""
    return code.file is not None and Path(os.path.realpath(code.file)).is_relative_to(os.path.realpath(OWN))


def _listed(code: Code, origin: str | None = None) -> Listed:
    if is_reference(code.target):
        return Listed(code.where, code.target, "file from a hub that runs when it is loaded", None, None)
    if code.file is None:
        return Listed(code.where, code.target, "part of Python", None, None)
    return Listed(code.where, code.target, origin or _source(code.file), str(code.file), code.sha256)


def _source(file: Path) -> str:
    compiled = " (compiled)" if file.name.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)) else ""
    if not is_installed(file):
        return f"file{compiled}" if compiled or file.suffix == ".py" else "file that runs when it is loaded"
    for name in ("purelib", "platlib"):
        folder = os.path.realpath(sysconfig.get_path(name))
        if os.path.realpath(file).startswith(folder + os.sep):
            top = os.path.relpath(os.path.realpath(file), folder).split(os.sep)[0].split(".")[0]
            return f"package {_distribution(top)}{compiled}"
    return f"part of Python{compiled}"


def _distribution(top: str) -> str:
    names = importlib.metadata.packages_distributions().get(top, [])
    return f"{names[0]} {importlib.metadata.version(names[0])}" if names else top


def _beside(named: list[Code], base: Path) -> Iterator[Listed]:
    """Files that come along with those that the config names: the packages around a module, and what a file imports in
    turn."""
    for code in named:
        if code.file is None or code.file.suffix != ".py" or is_installed(code.file):
            continue
        module = code.target.partition(":")[0]
        around = [] if module.endswith(".py") else [f for f in module_files(module, base) if f != code.file]
        reasons = {file: f"package around {module}" for file in around if not is_installed(file)}
        for source in (code.file, *reasons):
            for file in imported_files(source):
                reasons.setdefault(file, f"imported by {source.name}")
        for file, reason in reasons.items():
            if file != code.file:
                yield Listed(code.where, reason, _source(file), str(file), sha256(file))


def _missing(data: Mapping[str, Any], found: set[str]) -> Iterator[Listed]:
    """Import strings that name code and lead nowhere."""
    for where, text in _texts(data, ()):
        key = next((part for part in reversed(where) if isinstance(part, str)), "")
        named = key in _NAMES_CODE and import_parts(text) is not None
        if text not in found and (named or key == "imports" or text.partition(":")[0].endswith(".py")):
            yield Listed(".".join(map(str, where)), text, NOT_FOUND, None, None)


def _runtimes(data: Mapping[str, Any], base: Path) -> Iterator[Listed]:
    """Interpreters and packages that agents and tasks would run in the place of this interpreter and what is installed
    here."""
    lists = [(kind, data.get(kind)) for kind in ("agents", "tasks")]
    entries = [
        (kind, place, one) for kind, found in lists if isinstance(found, list) for place, one in enumerate(found)
    ]
    for kind, place, entry in entries:
        runtime = entry.get("runtime") if isinstance(entry, dict) else None
        if not isinstance(runtime, dict):
            continue
        where, packages, python = f"{kind}.{place}.runtime", runtime.get("packages"), runtime.get("python")
        for package in packages if isinstance(packages, list) else ():
            yield Listed(f"{where}.packages", str(package), "package that is installed for it", None, None)
        if not isinstance(packages, list) and isinstance(python, str):
            file = (shutil.which(python) if os.sep not in python else None) or absolute(python, base)
            if os.path.isfile(file):
                yield Listed(f"{where}.python", python, "interpreter", file, sha256(Path(file)))
            else:
                yield Listed(f"{where}.python", python, NOT_FOUND, None, None)


def _texts(value: Any, where: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(inner, (*where, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _texts(inner, (*where, place))
    elif isinstance(value, str):
        yield where, value


def _plug_ins(data: Mapping[str, Any]) -> Iterator[tuple[Code, str]]:
    """Parts that installed packages add, each with its package."""
    words = {text for _, text in _texts(data, ())}
    words |= {text.partition(CHOSEN)[0] for text in words}
    for package in importlib.metadata.distributions():
        for entry in package.entry_points:
            used = entry.group not in _ONLY_IF_NAMED or entry.name in words
            if entry.group.startswith("proctor.") and used:
                for code in part_code(f"plug-in {entry.name} ({entry.group})", entry.value):
                    yield code, f"package {package.name} {package.version}"


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
