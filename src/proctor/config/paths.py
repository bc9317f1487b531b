"""Paths in a config: relative ones start from the folder of the YAML file and become absolute.

Which values are paths: `checkpoint`; import strings of a file (`controllers.py:PD`), or of a module that lies in the
YAML file's folder, and such modules under `imports`; options named `file` or `..._file`; folders that need not exist,
`..._folder`; a Python file by itself (`imports: [my_envs.py]`); what a suite declares as its `places`, unless it has a
scheme (`builtin:g1`); and any option that begins with `./` or `../`. Inside `kwargs`, which belong to somebody else's
function, only the last rule holds.
"""

from __future__ import annotations

import glob
import importlib.machinery
import importlib.util
import os
import re
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from proctor.config.problems import Path, Problems, did_you_mean
from proctor.interpreters import is_neighbour
from proctor.references import is_reference

_IMPORT_STRING = re.compile(r"(?P<module>[^:\s]+):(?P<name>[A-Za-z_][\w./-]*)$")
_SCHEME = re.compile(r"[a-z][a-z_]+:")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")


@dataclass(frozen=True)
class Context:
    """What resolving needs: the folder that relative paths start from, and where to note problems."""

    base: FilePath
    problems: Problems
    places: frozenset[str] = frozenset()
    """Options of the suite at hand that hold paths, or names with a scheme."""
    run_keys: frozenset[str] = frozenset()
    """Keys that the config gives for the whole run."""
    n_trials: int | None = None
    """How many trials of each agent the run has on a task that does not say it; None where that is no number."""
    n_seeds: int | None = None
    """How many seeds the run lists; None: it lists none."""
    brought: frozenset[str] = frozenset()
    """Options of the tasks that an agent may bring."""
    rows_alone: bool = False
    """Whether a task's protocol asks for one row at a time."""


def absolute(text: str, base: FilePath) -> str:
    """`text` as an absolute path; `~` is the home folder."""
    return os.path.normpath(os.path.join(base, os.path.expanduser(text)))


def existing_file(text: str, where: Path, context: Context) -> str:
    """`text` as an absolute path; a problem at `where` if nothing is there. A reference to a hub stays as it is."""
    if is_reference(text):
        return text
    path = absolute(text, context.base)
    if not os.path.exists(path):
        folder = os.path.dirname(path)
        if os.path.isdir(folder):
            near = did_you_mean(os.path.basename(path), os.listdir(folder))
            context.problems.add(where, f"no such file: {path}", near)
        else:
            context.problems.add(where, f"no such file: {path} (nor the folder {folder})")
    return path


def import_string(text: str, where: Path, context: Context) -> str:
    """An import string with the file it names made absolute. A module that Python would not find but that
    lies under the base folder becomes that file. Anything else comes back as it is."""
    match = _IMPORT_STRING.match(text)
    if match is None:
        return text
    module, name = match["module"], match["name"]
    if module.endswith(".py"):
        return f"{existing_file(module, where, context)}:{name}"
    if _MODULE.match(module):
        local = _beside(module, context)
        return text if local is None else f"{local}:{name}"
    return text


def _beside(module: str, context: Context) -> str | None:
    """The file of a module that lies under the base folder; None where Python would find another one."""
    local = absolute(str(context.base.joinpath(*module.split(".")).with_suffix(".py")), context.base)
    if not os.path.isfile(local):
        return None
    spec = find_module(module)
    if spec is None or spec.origin is None:
        return local if spec is None else None
    ours = is_neighbour(os.path.join(context.base, "any.py"))
    same = ours and os.path.realpath(spec.origin) == os.path.realpath(local)
    return local if same or is_neighbour(spec.origin) else None


def import_parts(text: str) -> tuple[str, str] | None:
    """Module or file, and name, of what looks like an import string; None for any other text."""
    match = _IMPORT_STRING.match(text)
    return None if match is None else (match["module"], match["name"])


def find_module(name: str) -> importlib.machinery.ModuleSpec | None:
    """Where a module is; None where there is none. Nothing is imported: `importlib.util.find_spec` alone would import
    the packages around it."""
    top, *inner = name.split(".")
    try:
        spec = importlib.util.find_spec(top) if top else None
        for part in inner:
            if spec is None:
                return None
            top = f"{top}.{part}"
            spec = importlib.machinery.PathFinder.find_spec(top, spec.submodule_search_locations)
    except (ImportError, ValueError):
        return None
    return spec


def python_path(value: Any, context: Context) -> Any:
    """The folders in which modules are looked for, absolute; None: the config's own."""
    if value is None:
        return [str(context.base)]
    return [absolute(v, context.base) if isinstance(v, str) else v for v in value] if isinstance(value, list) else value


def _resolve_option(value: Any, where: Path, context: Context) -> Any:
    if where[-1] == "runtime" and "kwargs" not in where and value is not None:
        from proctor.config.runtime import resolve_runtime

        return resolve_runtime(value, where, context)
    return resolve_options(value, where, context)


def resolve_options(value: Any, where: Path, context: Context) -> Any:
    """A copy of an options value with its paths made absolute; `where` is its place in the config."""
    if isinstance(value, dict):
        return {key: _resolve_option(inner, (*where, key), context) for key, inner in value.items()}
    if isinstance(value, list):
        return [resolve_options(item, (*where, i), context) for i, item in enumerate(value)]
    if not isinstance(value, str):
        return value
    if "kwargs" in where:
        return absolute(value, context.base) if value.startswith(("./", "../")) else value
    key = next((part for part in reversed(where) if isinstance(part, str)), "")
    if key in context.places or (key == "path" and not context.places.isdisjoint(where)):
        return value if _SCHEME.match(value) else absolute(value, context.base)
    if _IMPORT_STRING.match(value):
        return import_string(value, where, context)
    if key == "imports" and _MODULE.match(value) and not value.endswith(".py"):
        return _beside(value, context) or value
    if key == "file" or key.endswith("_file") or value.endswith(".py"):
        return existing_file(value, where, context)
    return absolute(value, context.base) if value.startswith(("./", "../")) or key.endswith("_folder") else value


def is_pattern(text: str, base: FilePath) -> bool:
    """Whether a checkpoint is a glob pattern; a file that has brackets in its name is none."""
    return glob.has_magic(text) and not os.path.exists(absolute(text, base))


def expand_pattern(text: str, base: FilePath) -> dict[str, str]:
    """The files a pattern matches, in natural order (`ckpt_9` before `ckpt_10`): short name -> absolute path.
    The short name is the file's stem; where stems repeat, the path from the pattern's fixed folder on, and
    with its ending if need be."""
    pattern = absolute(text, base)
    found = sorted((p for p in glob.glob(pattern, recursive=True) if os.path.isfile(p)), key=natural_key)
    fixed = pattern[: next(i for i, char in enumerate(pattern) if char in "*?[")].rpartition(os.sep)[0]
    relative = [os.path.relpath(path, fixed or os.sep) for path in found]
    for names in (
        [FilePath(path).stem for path in relative],
        [os.path.splitext(path)[0] for path in relative],
        relative,
    ):
        if len(set(names)) == len(names):
            return dict(zip(names, found, strict=True))
    return {}


def natural_key(text: str) -> list[tuple[int, int, str]]:
    """Sorts numbers within text by value."""
    parts = re.split(r"(\d+)", text)
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts]
