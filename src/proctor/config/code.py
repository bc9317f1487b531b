"""The code that a config names: what would be imported, or unpickled, if it were run. Nothing is imported to find out.

Code is named by import strings (`policy`, `suite`, `module`, `scoring.mode`, wrappers, environments, ...), by Python
files, by modules under `imports`, and by files beside `trust: true`, which are unpickled. What looks like an import
string and leads to no module and no file names no code: it could not be imported either. Registered parts come with
Proctor, or with packages that the user has installed, and are not listed. The interpreter of a task's or an agent's
runtime that is given by its path is code, too. A reference to a hub beside `trust: true` is code by its text, which
names a commit or a version once a run has begun.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from proctor.config.models import EvalConfig
from proctor.config.paths import find_module
from proctor.config.problems import Path
from proctor.references import is_reference

NAMING = ("agents", "tasks", "scoring", "workers", "loggers")
"""Keys of a config under which code can be named."""


@dataclass(frozen=True)
class Code:
    """Some code that a config names. `where` is the dotted key; `target` is what the config says; `attribute` is what
    of the file or module is used, empty where all of it is run; `file` is where the code lies, None for a module that
    is part of the interpreter, or lies on a hub; `sha256` is of the file's bytes, or of the module's name or the
    reference where there is no file."""

    where: str
    target: str
    attribute: str
    file: FilePath | None
    sha256: str


def code_of(config: EvalConfig) -> list[Code]:
    """All code that running this config would use."""
    data = config.model_dump(mode="json", include=set(NAMING))
    named = [code for key in NAMING for code in _found(data[key], (key,), data[key])]
    return [*named, *_interpreters(config), *(_folders(config) if named else ())]


def module_folders(config: EvalConfig) -> tuple[str, ...]:
    """The folders in which modules of the user's are to be looked for: none where the config names no code, so that a
    run of somebody else, whose code need not be trusted, adds nothing to the path."""
    return config.python_path if code_of(config) else ()


def _folders(config: EvalConfig) -> Iterator[Code]:
    """The folders of `python_path`, by their names: what lies there may be imported by what the config names."""
    for place, folder in enumerate(config.python_path):
        digest = hashlib.sha256(folder.encode(errors="surrogatepass")).hexdigest()
        yield Code(f"python_path.{place}", folder, "", FilePath(folder), digest)


def _interpreters(config: EvalConfig) -> Iterator[Code]:
    """Interpreters of tasks and agents, by their paths: what one runs is what lies around it, which no hash of its file
    tells."""
    for kind, owners in (("agents", config.agents), ("tasks", config.tasks)):
        for place, owner in enumerate(owners):
            given = None if owner.runtime is None or owner.runtime.packages is not None else owner.runtime.python
            if given is not None:
                digest = hashlib.sha256(given.encode(errors="surrogatepass")).hexdigest()
                yield Code(f"{kind}.{place}.runtime.python", given, given, FilePath(given), digest)


def code_in(data: Mapping[str, Any]) -> list[Code]:
    """All code that is named in a config as it was written, which need not be valid; its paths are absolute."""
    return [code for key, value in data.items() for code in _found(value, (key,), value)]


def part_code(where: str, target: str) -> list[Code]:
    """The code of a part that a package brings, by its import string."""
    return list(_named(target, (where,)))


def scoring_code(config: EvalConfig) -> list[Code]:
    """The code that reading a run with this config would use: its scoring, and its own metrics."""
    scoring = config.model_dump(mode="json", include={"scoring"})["scoring"]
    return list(_found({key: scoring[key] for key in ("mode", "metrics")}, ("scoring",), scoring))


def _found(value: Any, where: Path, owner: Any) -> Iterator[Code]:
    """`owner` is the agent, task or other entry that a value belongs to."""
    if isinstance(value, Mapping):
        if value.get("trust") is True:
            yield from _unpickled(value, where, owner)
        for key, inner in value.items():
            yield from _found(inner, (*where, key), owner)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _found(inner, (*where, place), inner if len(where) == 1 else owner)
    elif isinstance(value, str):
        yield from _named(value, where)


def _unpickled(options: Mapping[str, Any], where: Path, owner: Any) -> Iterator[Code]:
    """The files beside `trust: true`, and the checkpoint of the agent whose option it is."""
    checkpoint = owner.get("checkpoint") if isinstance(owner, Mapping) else None
    for name in dict.fromkeys(value for value in (*options.values(), checkpoint) if isinstance(value, str)):
        if is_reference(name):
            yield Code(_dotted(where), name, "", None, hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest())
        elif os.path.isfile(name):
            yield from _of_file((name, "", where), name)


def _named(text: str, where: Path) -> Iterator[Code]:
    """Whatever `import_object` and Gymnasium could make of a text: they part it at its first and at its last colon."""
    if where[-1] == "checkpoint" and is_reference(text):
        return
    parted = {(text.partition(":")[::2]), (text.rpartition(":")[::2])} if ":" in text else {(text, "")}
    for module, attribute in sorted(parted):
        if module.endswith(".py"):
            yield from _of_file((text, attribute, where), module)
        elif attribute or "imports" in where:
            yield from _of_module((text, attribute, where), module)


def _of_module(named: tuple[str, str, Path], module: str) -> Iterator[Code]:
    spec = find_module(module)
    if spec is not None and spec.has_location and spec.origin is not None:
        yield from _of_file(named, spec.origin)
    elif spec is not None:
        target, attribute, where = named
        yield Code(_dotted(where), target, attribute, None, hashlib.sha256(module.encode()).hexdigest())


def _of_file(named: tuple[str, str, Path], file: str) -> Iterator[Code]:
    target, attribute, where = named
    try:
        with open(file, "rb") as stream:
            digest = hashlib.file_digest(stream, "sha256")
    except (OSError, ValueError):
        return
    yield Code(_dotted(where), target, attribute, FilePath(file), digest.hexdigest())


def _dotted(where: Path) -> str:
    return ".".join(map(str, where))
