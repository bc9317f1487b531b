"""Asking an interpreter what it is and whether it can import what it should; in a process of its own, which may crash.
And finding one of a wanted version: this one, those on PATH, those of pyenv, those that uv can bring.

Variables that belong to this interpreter (`PYTHONPATH`, `PYTHONHOME`) are not handed on: they would put the packages of
one Python before another. Isolated mode (`-I`) would be too much: it also hides the folders that a recipe puts on the
path, and the packages of a user's own that an interpreter was set up with.
"""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor.config.runtime import fits
from proctor.errors import InputError
from proctor.runtimes.recipes import OLDEST

LIMIT_S = 300.0
"""For everything that is imported together; a first import from a slow disk takes a minute."""
START_LIMIT_S = 20.0
INSIDE = Path(__file__).with_name("inside.py")
OURS = (
    "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONEXECUTABLE", "__PYVENV_LAUNCHER__", "VIRTUAL_ENV", "UV_PYTHON",
)  # fmt: skip
"""Environment variables that are about this interpreter."""


def environment_for(path: Sequence[str] = (), variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment that another interpreter is started in: this one without what is about this interpreter, with
    these folders on its path and these variables."""
    kept = {key: value for key, value in os.environ.items() if key not in OURS}
    return {**kept, **({"PYTHONPATH": os.pathsep.join(path)} if path else {}), **(variables or {})}


class NoAnswer(Exception):
    """An interpreter could not be started, or is none. The text is the reason."""


@dataclass(frozen=True)
class Answer:
    """What an interpreter said of itself."""

    version: str
    implementation: str
    packages: dict[str, str] = field(default_factory=dict)
    """Name (in lower case, with hyphens) -> version, of everything that is installed, the installer left out."""
    site: tuple[str, ...] = ()
    """The folders that packages are installed in."""
    lacking: tuple[tuple[str, str], ...] = ()
    """(shared library, reason) of those that cannot be loaded."""
    failed: tuple[tuple[str, str], ...] = ()
    """(module, reason) of those that cannot be imported."""
    ended: tuple[str | None, str] | None = None
    """Where the interpreter died or hung: the module that was being imported, and how it ended."""


def ask(
    python: str | os.PathLike[str],
    imports: Sequence[str] = (),
    system: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Answer:
    """Start the interpreter once and let it look at itself. Raises NoAnswer where it does not start."""
    wanted = json.dumps({"imports": list(imports), "system": list(system)})
    limit_s = LIMIT_S if imports else START_LIMIT_S
    ending = None
    try:
        done = subprocess.run(
            [os.fspath(python), "-c", INSIDE.read_text(), wanted],
            env=environment_for() if environment is None else dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit_s,
        )
        printed, told, code = done.stdout, done.stderr, done.returncode
        ending = None if code == 0 else how_ended(code)
    except subprocess.TimeoutExpired as late:
        printed, told, ending = late.stdout or b"", late.stderr or b"", f"gave no answer within {limit_s:g} s"
    except OSError as error:
        raise NoAnswer(error.strerror or str(error)) from None
    return _understood(printed.decode(errors="replace"), told.decode(errors="replace"), ending)


def _understood(printed: str, told: str, ending: str | None) -> Answer:
    said: dict[str, Any] = {}
    several: dict[str, list[tuple[str, str]]] = {"lacks": [], "failed": []}
    for line in printed.splitlines():
        try:
            what, value = json.loads(line)
        except ValueError:
            continue
        if what in several:
            several[what].append((value[0], value[1]))
        else:
            said[what] = value
    if "python" not in said:
        last = next((line.strip() for line in reversed(told.splitlines()) if line.strip()), "")
        raise NoAnswer(": ".join(filter(None, (ending or "it does not answer as an interpreter of Python does", last))))
    return Answer(
        **said["python"],
        packages=said.get("packages", {}),
        site=tuple(said.get("site", ())),
        lacking=tuple(several["lacks"]),
        failed=tuple(several["failed"]),
        ended=None if ending is None else (said.get("importing"), ending),
    )


def how_ended(code: int) -> str:
    """The end of a process in words."""
    if code >= 0:
        return f"it ended with code {code}"
    try:
        return f"it was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"it was ended by signal {-code}"


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
