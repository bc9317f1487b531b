"""Whether a runtime is as it was installed, and works. Each thing that can be wrong has one sentence and one command.

An interpreter is started only where something may have changed: what was seen to be in order is remembered with the
times and sizes of the interpreter and of the folders with packages (`checked.json`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from proctor.config.runtime import fits
from proctor.foreign import read_json
from proctor.record.files import write_synced
from proctor.runtimes import store
from proctor.runtimes.asking import Answer, NoAnswer, ask, environment_for
from proctor.runtimes.recipes import OLDEST, install_command
from proctor.runtimes.store import Damaged, Installed

State = Literal["installed", "absent", "half installed", "broken", "changed"]
_LIBRARY = re.compile(r"(lib[\w.+-]*\.so[\w.]*): cannot open shared object file")


@dataclass(frozen=True)
class Problem:
    """What is wrong, and the command that mends it."""

    state: State
    sentence: str
    command: str

    def __str__(self) -> str:
        return f"{self.sentence}: {self.command}"


def problems_of(name: str, *, thorough: bool = False) -> tuple[Installed | None, list[Problem]]:
    """What is installed under a name, and what is wrong with it. `thorough`: the interpreter is asked in any case."""
    who = f'the runtime "{name}"'
    try:
        installed = store.read(name)
    except Damaged as error:
        return None, [Problem("broken", f"{who} is damaged, {error}; build it again with", install_command(name))]
    if installed is None:
        return None, [_absent(name, who)]
    stamp = _stamp(installed)
    if not thorough and stamp is not None and _remembered(installed) == stamp:
        return installed, []
    found = list(_examined(installed, who))
    if not found:
        _remember(installed)
    return installed, found


def _absent(name: str, who: str) -> Problem:
    command = install_command(name)
    if store.is_held(name):
        return Problem("half installed", f"{who} is being installed right now; wait for it with", command)
    if store.unfinished(name):
        said = f"{who} is half installed, its installation was interrupted; install it with"
        return Problem("half installed", said, command)
    return Problem("absent", f"{who} is not installed; install it with", command)


def _examined(installed: Installed, who: str) -> Iterator[Problem]:
    wanted, again = installed.specification, install_command(installed.name)
    try:
        answer = ask(
            installed.interpreter, wanted.imports, tuple(wanted.system), environment_for(wanted.path, wanted.variables)
        )
    except NoAnswer as reason:
        said = f"the interpreter {installed.interpreter} of {who} cannot be started ({reason})"
        yield Problem("broken", f"{said}; build it again with", again)
        return
    for folder in wanted.path:
        if not os.path.isdir(folder):
            options = "".join(f" --option {key}=PATH" for key in wanted.options)
            said = f"{who} needs the folder {folder}, which is not there; say where it is now with"
            yield Problem("broken", said, again + options)
    if changes := changed(installed, answer):
        said = f"{who} has changed since it was installed ({changes}); build it again with"
        yield Problem("changed", said, again)
    yield from unusable(answer, who, wanted.system, again)


def changed(installed: Installed, answer: Answer) -> str | None:
    """What is not as it was installed, in a few words; None where all is."""
    found = []
    if (answer.version, answer.implementation) != (installed.python, installed.implementation):
        found.append(f"Python is {answer.version} and was {installed.python}")
    for name in sorted({*installed.packages, *answer.packages}):
        was, now = installed.packages.get(name), answer.packages.get(name)
        if was != now:
            found.append(
                f"{name} {was} is gone" if now is None else f"{name} {now} is new" if was is None
                else f"{name} is {now} and was {was}"
            )  # fmt: skip
    more = f" and {len(found) - 4} more" if len(found) > 5 else ""
    return ", ".join(found[: 4 if more else 5]) + more or None


def unusable(answer: Answer, who: str, system: Mapping[str, str], again: str) -> Iterator[Problem]:
    """Why an interpreter that starts cannot be used. `again`: the command that builds it anew."""
    if not fits(answer.version, OLDEST):
        said = f"{who} is Python {answer.version}, and Python {OLDEST} is needed; name another one with"
        yield Problem("broken", said, "runtime: {python: PATH}")
        return
    missing = dict(answer.lacking)
    for library in missing:
        yield _lacks(who, library, system, f"{who} needs")
    for module, reason in answer.failed:
        library = _LIBRARY.search(reason)
        if library is None:
            said = f'{who} cannot import "{module}" ({_short(reason)}); build it again with'
            yield Problem("broken", said, again)
        elif library[1] not in missing:
            yield _lacks(who, library[1], system, f'{who} cannot import "{module}" without')
    if answer.ended is not None:
        module, how = answer.ended
        doing = f'while it imported "{module}"' if module else "while it looked at what is installed"
        yield Problem("broken", f"the Python of {who} died {doing} ({how}); build it again with", again)


def _lacks(who: str, library: str, system: Mapping[str, str], beginning: str) -> Problem:
    said = f"{beginning} the system library {library}, which this machine lacks"
    if library in system:
        return Problem("broken", f"{said}; install it with", f"apt-get install {system[library]}")
    return Problem("broken", f"{said}; find the package that has it with", f"apt-file search {library}")


def _short(reason: str) -> str:
    """An error in one line."""
    line = " ".join(reason.split())
    return line if len(line) <= 300 else line[:297] + "..."


def _stamp(installed: Installed) -> list[Any] | None:
    """What changes when an interpreter or what is installed beside it does; None where something is not there."""
    specification = installed.specification
    try:
        interpreter = os.stat(installed.interpreter)
        if not os.access(installed.interpreter, os.X_OK):
            return None
        folders = [*(installed.folder / site for site in installed.site), *map(Path, specification.path)]
        times = [os.stat(folder).st_mtime_ns for folder in folders]
    except OSError:
        return None
    return [installed.hash, installed.environment, interpreter.st_mtime_ns, interpreter.st_size, times]


def _remembered(installed: Installed) -> Any:
    try:
        return read_json(installed.folder / "checked.json")
    except (OSError, ValueError):
        return None


def _remember(installed: Installed) -> None:
    """After the interpreter was asked: to import something may have written beside it."""
    stamp = _stamp(installed)
    if stamp is not None:
        with suppress(OSError):  # somebody else's folder, which is asked each time
            write_synced(installed.folder / "checked.json", json.dumps(stamp).encode())


def first_problem(found: Sequence[Problem]) -> Problem | None:
    """The one to mend first: what a machine lacks is mended before anything is built again."""
    return next((p for p in found if not p.command.startswith("proctor ")), found[0] if found else None)
