"""What a contestant's submission folder holds, found by reading its files and running none of them.

A submission script of the competition runs from its first line on: it opens a connection, benchmarks and submits. The
competition's runner therefore takes nothing of it but the source of one class and of one function, and runs those with
`np` and `env` in sight. So does this module.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from proctor.errors import InputError

WEIGHTS = (".pt", ".pth", ".onnx")
NONE = "none"
"""In the place of a name: there is none, whatever the folder holds."""


@dataclass(frozen=True)
class Piece:
    """A class or a function at the top of a file."""

    file: Path
    name: str
    source: str

    def __str__(self) -> str:
        return f"{self.file.name}:{self.name}"

    def made(self, action_space: Any, observation_space: Any) -> Any:
        """The class or function, of its own source alone, as the competition's runner makes it. `env` is known by its
        spaces. Raises InputError where the source needs more than that."""
        env = SimpleNamespace(action_space=action_space, observation_space=observation_space)
        namespace: dict[str, Any] = {"np": np, "env": env, "__name__": "proctor_submission"}
        try:
            exec(compile(self.source, str(self.file), "exec"), namespace)
        except Exception as error:
            raise InputError(
                f"{self} cannot be made of its own lines, with np and env in sight, as the competition's runner makes "
                f"it: {error!r}"
            ) from None
        return namespace[self.name]


@dataclass(frozen=True)
class Contents:
    """What a folder holds of each kind: classes of torch modules, classes with `modify_state`, functions called
    `action_function`, files of weights."""

    folder: Path
    modules: tuple[Piece, ...]
    preprocessors: tuple[Piece, ...]
    action_functions: tuple[Piece, ...]
    weights: tuple[Path, ...]

    def piece(self, key: str, found: tuple[Piece, ...], wanted: str | None) -> Piece | None:
        """The one that `wanted` names (`file.py:Name`), else the only one; None where there is none, or `none` is
        wanted. Raises InputError where several are there, or not the one that is named."""
        if wanted == NONE:
            return None
        named = found if wanted is None else tuple(piece for piece in found if str(piece) == wanted)
        if len(named) > 1 or (wanted is not None and not named):
            listed = ", ".join(map(str, found)) or "none"
            said = f"options.{key} is {wanted}, but" if wanted is not None else "which one is meant is not said:"
            raise InputError(f"{said} {self.folder} holds {listed}; say which with options: {{{key}: file.py:Name}}")
        return named[0] if named else None

    def weights_file(self, wanted: str | None) -> Path | None:
        """The file of weights that `wanted` names, else the only one; None where there is none."""
        named = self.weights if wanted is None else tuple(p for p in self.weights if p.name == wanted)
        if len(named) > 1 or (wanted is not None and not named):
            listed = ", ".join(path.name for path in self.weights)
            held = f"{self.folder} holds {f'the weights {listed}' if listed else 'no weights'}"
            said = "" if wanted is None else f"options.weights is {wanted}, which is missing: "
            raise InputError(f"{said}{held}; say which with options: {{weights: NAME}}")
        return named[0] if named else None


def read_contents(path: Path) -> Contents:
    """Of a folder, not of those in it; or of a single file of weights. Raises InputError for a file that is no
    Python."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    scripts = [file for file in files if file.suffix == ".py" and file.is_file()]
    pieces = [piece for script in scripts for piece in _pieces(script)]

    def of(kind: str) -> tuple[Piece, ...]:
        return tuple(piece for found, piece in pieces if found == kind)

    weights = tuple(file for file in files if file.suffix in WEIGHTS and file.is_file())
    return Contents(path, of("module"), of("preprocessor"), of("action_function"), weights)


def _pieces(file: Path) -> list[tuple[str, Piece]]:
    text = file.read_text(encoding="utf-8", errors="replace")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise InputError(f"{file} is no Python file: {error}") from None
    found = []
    for node in tree.body:
        kind = _kind(node)
        if kind is not None and isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.append((kind, Piece(file, node.name, ast.get_source_segment(text, node) or "")))
    return found


def _kind(node: ast.stmt) -> str | None:
    if isinstance(node, ast.FunctionDef):
        return "action_function" if node.name == "action_function" else None
    if not isinstance(node, ast.ClassDef):
        return None
    if any(isinstance(part, ast.FunctionDef) and part.name == "modify_state" for part in node.body):
        return "preprocessor"
    return "module" if any(ast.unparse(base).rpartition(".")[2] == "Module" for base in node.bases) else None
