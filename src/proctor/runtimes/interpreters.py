"""Finding an interpreter of a wanted version: this one, those on PATH, those of pyenv, those that uv can bring."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from proctor.config.runtime import fits
from proctor.errors import InputError
from proctor.runtimes.asking import NoAnswer, ask, environment_for
from proctor.runtimes.recipes import OLDEST

NEWEST_MINOR = 14
OLDEST_MINOR = 8
UV_LIMIT_S = 600.0


@dataclass(frozen=True)
class Interpreter:
    """A Python that a virtual environment can be made of."""

    path: str
    version: str
    implementation: str


def given_interpreter(path: str, constraint: str) -> Interpreter:
    """The interpreter that the user names. Raises InputError where it is none, or of another version."""
    found = shutil.which(path) if os.sep not in path else os.path.abspath(path)
    try:
        answer = ask(found or path)
    except NoAnswer as reason:
        raise InputError(f"{path} cannot be started as an interpreter of Python: {reason}") from None
    if not fits(answer.version, OLDEST) or not fits(answer.version, constraint):
        raise InputError(
            f"{path} is Python {answer.version}, and Python {constraint} is needed; name another one: --python PATH"
        )
    return Interpreter(found or path, answer.version, answer.implementation)


def find_interpreter(constraint: str) -> Interpreter:
    """An interpreter whose version is meant by the constraint. Raises InputError that says where was looked."""
    seen: dict[str, str] = {}
    for path in _candidates(constraint):
        if path in seen:
            continue
        try:
            answer = ask(path)
        except NoAnswer:
            seen[path] = "does not start"
            continue
        if fits(answer.version, constraint) and fits(answer.version, OLDEST):
            return Interpreter(path, answer.version, answer.implementation)
        seen[path] = answer.version
    uv = shutil.which("uv")
    if uv is not None and (found := _of_uv(uv, constraint)) is not None:
        return found
    looked = ", ".join(f"{path} ({what})" for path, what in seen.items())
    uv_said = "uv has none" if uv else "uv, which could bring one, is not on PATH"
    raise InputError(
        f"Python {constraint} is needed and was not found: this interpreter, python3.X on PATH and pyenv's versions "
        f"were looked at ({looked}), and {uv_said}; install one and name it: --python PATH"
    )


def _candidates(constraint: str) -> Iterator[str]:
    """This interpreter; commands on PATH; pyenv's. Newest first, and of those whose name says a version, only what
    may fit."""
    yield sys.executable
    for minor in range(NEWEST_MINOR, OLDEST_MINOR - 1, -1):
        if _may_fit(f"3.{minor}", constraint) and (found := shutil.which(f"python3.{minor}")):
            yield found
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    folders = [path for path in glob.glob(os.path.join(root, "versions", "3.*")) if os.path.isdir(path)]
    for path in sorted(folders, key=lambda path: _numbers(os.path.basename(path)), reverse=True):
        if _may_fit(os.path.basename(path), constraint):
            yield os.path.join(path, "bin", "python")


def _may_fit(version: str, constraint: str) -> bool:
    """Whether an interpreter whose name says this much of its version could be meant."""
    numbers = _numbers(version)
    if len(numbers) > 2:
        return fits(version, constraint)
    return any(fits(f"{version}.{micro}", constraint) for micro in range(60))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))


def _of_uv(uv: str, constraint: str) -> Interpreter | None:
    """One that uv has, or can fetch from where it is configured to."""
    path = _uv(uv, "find", constraint)
    if path is None and _uv(uv, "install", constraint) is not None:
        path = _uv(uv, "find", constraint)
    try:
        answer = None if path is None else ask(path)
    except NoAnswer:
        return None
    if path is None or answer is None or not fits(answer.version, constraint):
        return None
    return Interpreter(path, answer.version, answer.implementation)


def _uv(uv: str, verb: str, constraint: str) -> str | None:
    """The last line that `uv python VERB` printed; None where it failed."""
    command = [uv, "python", verb, constraint]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=UV_LIMIT_S, env=environment_for()
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return (done.stdout.strip().splitlines() or [""])[-1] if done.returncode == 0 else None
