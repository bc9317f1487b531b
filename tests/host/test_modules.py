"""What runs in another interpreter needs no more than it says: the host needs the standard library and numpy, a suite's
environment these, the host and its simulator, in the oldest Python that either promises."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import proctor
import proctor_host
from proctor.registry import RUNTIMES, SUITES

HOST = Path(proctor_host.__file__).parent
ROOT = Path(proctor.__file__).parents[1]
OLDEST = (3, 8)
PLAIN = {*sys.stdlib_module_names, "numpy", "proctor_host", "proctor"}
"""`proctor`: such modules are looked at in turn."""


def parsed(path: Path, oldest: tuple[int, int]) -> ast.Module:
    return ast.parse(path.read_text(), str(path), feature_version=oldest)


def imported(tree: ast.Module, always: bool) -> Iterator[str]:
    """Modules that a module imports; `always`: when it is imported itself, and not only for types."""
    for node in walked(tree, always):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def walked(node: ast.AST, always: bool) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            continue
        if always and isinstance(child, ast.FunctionDef | ast.Lambda):
            continue
        yield child
        yield from walked(child, always)


def file_of(module: str) -> Path | None:
    """The file of a module of Proctor's that is run when it is imported in another interpreter."""
    place = ROOT.joinpath(*module.split("."))
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)


def newer_words(tree: ast.Module, oldest: tuple[int, int]) -> list[str]:
    """What the syntax tree does not tell: calls and names that only newer versions know."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and oldest < (3, 10):
            found += ["zip(strict)" for key in node.keywords if key.arg == "strict"]
        if isinstance(node, ast.Attribute) and oldest < (3, 9) and node.attr in ("removeprefix", "removesuffix"):
            found.append(node.attr)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            found += ["X | Y in isinstance"] * (isinstance(node.args[1], ast.BinOp) and oldest < (3, 10))
    return found


@pytest.mark.parametrize("path", sorted(HOST.glob("*.py")), ids=lambda path: path.stem)
def test_the_host_needs_the_standard_library_and_numpy(path: Path) -> None:
    tree = parsed(path, OLDEST)
    plain = PLAIN - {"proctor"}
    assert {name.partition(".")[0] for name in imported(tree, always=True)} <= plain
    where_used = {"torch"} if path.stem in ON_DEVICES else set()
    assert {name.partition(".")[0] for name in imported(tree, always=False)} <= plain | where_used
    assert newer_words(tree, OLDEST) == []


ON_DEVICES = ("arrays", "kit")
"""Modules that import torch where arrays lie on a device, or are tensors already."""


def hosted() -> list[str]:
    """Suites whose environments can be made in a runtime."""
    return [name for name in SUITES.names() if SUITES.load(name).environment is not None]


def recipe_of(suite: str) -> type:
    """The recipe of the suite, or the first of those that it has for some of its options."""
    name = SUITES.load(suite).runtime
    return RUNTIMES.load(name or next(one for one in sorted(RUNTIMES.names()) if one.startswith(f"{suite}-")))


def oldest_of(suite: str) -> tuple[int, int]:
    """The oldest Python that the recipe of a suite promises."""
    found = re.search(r"3\.(\d+)", recipe_of(suite).python or "3.8")
    assert found is not None
    return 3, int(found[1])


@pytest.mark.parametrize("suite", hosted())
def test_an_environment_needs_its_simulator_and_nothing_of_the_engine(suite: str) -> None:
    kind = SUITES.load(suite)
    recipe = recipe_of(suite)
    simulators = {name.partition(".")[0] for name in recipe.imports}
    allowed = PLAIN | simulators | {"gymnasium", "pydantic", "yaml"} & wanted(recipe)
    seen, left = set(), [kind.environment.partition(":")[0]]
    while left:
        name = left.pop()
        file = file_of(name) if name.startswith("proctor.") else None
        if file is None or file in seen or file == ROOT / "proctor" / "suites" / "__init__.py":
            continue
        seen.add(file)
        tree = parsed(file, oldest_of(suite))
        assert newer_words(tree, oldest_of(suite)) == [], file
        names = list(imported(tree, always=True))
        assert {one.partition(".")[0] for one in names} <= allowed, file
        left += names
    assert seen


def wanted(recipe: type) -> set[str]:
    packages = {re.split(r"[^\w]", package)[0].lower().replace("pyyaml", "yaml") for package in recipe.packages}
    return packages | ({"gymnasium"} & {recipe.name})
