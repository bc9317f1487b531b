"""The `runtime` of a task or an agent as a config writes it: paths made absolute, names and versions checked."""

from __future__ import annotations

import operator
import os
import re
import shutil
from typing import Any

from proctor.config.models import expand_runtime
from proctor.config.paths import Context, absolute, existing_file
from proctor.config.problems import Path, did_you_mean, shown
from proctor.errors import InputError
from proctor.registry import RUNTIMES

CHOSEN = "@"
"""Between a recipe's name and the version that was chosen: `NAME@1.4.0`."""
_CONSTRAINT = re.compile(r"(>=|<=|==|<|>)?\s*(3(?:\.\d+){0,2})")
_COMPARED = {">=": operator.ge, "<=": operator.le, "==": operator.eq, "<": operator.lt, ">": operator.gt}


def fits(version: str, constraint: str) -> bool:
    """Whether a version of Python is one of those that are meant: `3.10` is any 3.10, `>=3.8,<3.11` a range, an empty
    constraint any version. A bound counts as far as it is written: 3.10.13 is `<=3.10`."""
    numbers = _numbers(version)
    for part in filter(None, constraint.split(",")):
        found = _CONSTRAINT.fullmatch(part.strip())
        assert found is not None, constraint
        bound = _numbers(found[2])
        if not _COMPARED[found[1] or "=="](numbers[: len(bound)], bound):
            return False
    return True


def is_constraint(text: str) -> bool:
    """Whether a text says which versions of Python are meant."""
    return all(_CONSTRAINT.fullmatch(part.strip()) for part in text.split(","))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def split_name(name: str) -> tuple[str, str | None]:
    """A recipe's name, and the version that was chosen with `NAME@VERSION`."""
    recipe, _, version = name.partition(CHOSEN)
    return recipe, version or None


def resolve_runtime(entry: Any, where: Path, context: Context) -> Any:
    """The long form of a `runtime` with its paths absolute. What is wrong is added to the context's problems,
    unless validation will say so."""
    data = expand_runtime(entry)
    if not isinstance(data, dict):
        return entry
    data, packages = dict(data), data.get("packages")
    if isinstance(data.get("name"), str):
        _check_name(data["name"], where, context)
    if isinstance(data.get("token_file"), str):
        data["token_file"] = existing_file(data["token_file"], (*where, "token_file"), context)
    if isinstance(packages, list):
        data["packages"] = [_local(package, context) for package in packages]
        _check_version(data, where, context)
    elif isinstance(data.get("python"), str):
        data["python"] = _interpreter(data["python"], (*where, "python"), context)
    return data


def _local(package: Any, context: Context) -> Any:
    """A requirement; a folder that begins with a dot starts from the config's."""
    here = isinstance(package, str) and package.startswith(("./", "../"))
    return absolute(package, context.base) if here else package


def _check_name(name: str, where: Path, context: Context) -> None:
    recipe, version = split_name(name)
    if recipe not in RUNTIMES:
        known = RUNTIMES.names()
        expected = f"expected one of {', '.join(known)}, or {{python: PATH}}, or {{packages: [...]}}"
        message = f'no recipe of a runtime is named "{recipe}"; {expected}'
        context.problems.add(where, message, did_you_mean(recipe, known))
        return
    try:
        versioned = RUNTIMES.load(recipe).versioned
    except InputError as error:
        context.problems.add(where, str(error))
        return
    if version is not None and versioned is None:
        context.problems.add(where, f'the recipe "{recipe}" leaves no version open; write runtime: {recipe}')


def _check_version(data: dict[str, Any], where: Path, context: Context) -> None:
    wanted = data.get("python")
    if isinstance(wanted, float | int) and not isinstance(wanted, bool):
        data["python"] = "3"
        message = f"found the number {wanted}; expected a version of Python as text"
        context.problems.add_unusable((*where, "python"), message, 'write it in quotes: python: "3.10"')
    elif isinstance(wanted, str) and not is_constraint(wanted):
        data["python"] = "3"
        message = f'found {shown(wanted)}; expected a version of Python such as "3.10" or ">=3.8,<3.11"'
        context.problems.add_unusable((*where, "python"), message)


def _interpreter(text: str, where: Path, context: Context) -> str:
    """An interpreter's path; a plain word is a command. Links stay as they are: that of a virtual environment's
    interpreter leads out of it."""
    if os.sep not in text and (found := shutil.which(text)) is not None:
        return found
    path = existing_file(text, where, context)
    if os.path.isdir(path):
        inside = os.path.join(path, "bin", "python")
        hint = f"did you mean {inside}?" if os.path.exists(inside) else None
        context.problems.add(where, f"{path} is a folder; expected an interpreter of Python", hint)
    return path
