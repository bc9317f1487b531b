"""Asking an interpreter what it is and whether it can import what it should; in a process of its own, which may crash.

Variables that belong to this interpreter (`PYTHONPATH`, `PYTHONHOME`) are not handed on: they would put the packages of
one Python before another. Isolated mode (`-I`) would be too much: it also hides the folders that a recipe puts on the
path, and the packages of a user's own that an interpreter was set up with.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
