"""Building a runtime: a virtual environment, its packages, and the proof that it works."""

from __future__ import annotations

import importlib.metadata
import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from proctor.config.runtime import fits, is_constraint
from proctor.errors import InputError, RunError
from proctor.runtimes import store
from proctor.runtimes.asking import (
    Answer,
    Interpreter,
    NoAnswer,
    ask,
    environment_for,
    find_interpreter,
    given_interpreter,
)
from proctor.runtimes.recipes import RuntimeSpecification
from proctor.runtimes.store import Damaged, Installed, Lock
from proctor.runtimes.verify import first_problem, problems_of, unusable

PIP_FOR_OTHERS = (22, 3)
"""The first pip that installs for another interpreter."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Wishes:
    """What a user may ask for beside the specification."""

    python: str | None = None
    """The interpreter to make the virtual environment of."""
    lock: Lock | None = None
    """Exact versions to install, in the place of the specification's requirements."""
    again: bool = False
    """Build it also where it is installed and in order."""


@dataclass(frozen=True)
class Hear:
    """Who is told: `step` what is being done, `line` what the installer prints."""

    step: Say
    line: Say


def install(specification: RuntimeSpecification, wishes: Wishes, hear: Hear) -> tuple[Installed, bool]:
    """The runtime as it is installed, and whether it was built now. Where it is there, in order, and of this
    specification, nothing is done. Otherwise it is built beside what is there, and takes its place once it has proved
    to work; when anything fails, what was there before is as it was. Raises InputError or RunError with the reason."""
    name = specification.name
    with store.held(name, hear.step) as lock:
        there = _in_order(specification, wishes)
        if there is not None:
            there.write_lock()
            return there, False
        interpreter = _interpreter(specification, wishes, hear)
        folder = store.folder_of(name)
        folder.mkdir(exist_ok=True)
        before = _environment_of(name)
        for left in store.unfinished(name, before):
            store.remove_tree(left)
        target = folder / f"{store.BUILT}{secrets.token_hex(4)}"
        try:
            with (folder / "install.log").open("w") as log:
                installed = _build(specification, wishes, interpreter, _Builder(target, log, hear, lock))
            installed.write()
        except BaseException:
            with suppress(OSError):
                store.remove_tree(target)
            raise
        if before is not None:
            store.remove_tree(folder / before)
        problems_of(name)  # remembers that it is in order
        return installed, True


def remove(name: str, hear: Hear) -> bool:
    """Remove a runtime and what is left of one; whether there was any."""
    folder = store.folder_of(name)
    if not folder.is_dir():
        return False
    with store.held(name, hear.step):
        with suppress(OSError):
            (folder / "runtime.json").unlink(missing_ok=True)  # from here on it is not installed, whatever happens
        store.remove_tree(folder)  # the lock stays: somebody may be waiting for it
    return True


def _in_order(specification: RuntimeSpecification, wishes: Wishes) -> Installed | None:
    installed, problems = problems_of(specification.name)
    if installed is None or problems or wishes.again or wishes.python is not None:
        return None
    if wishes.lock is not None:
        return installed if dict(installed.packages) == dict(wishes.lock.packages) else None
    return installed if installed.specification == specification else None


def _environment_of(name: str) -> str | None:
    try:
        installed = store.read(name)
    except Damaged:
        return None
    return None if installed is None else installed.environment


def _interpreter(specification: RuntimeSpecification, wishes: Wishes, hear: Hear) -> Interpreter:
    if wishes.python is not None:
        return given_interpreter(wishes.python, specification.python)
    locked = None if wishes.lock is None else wishes.lock.python
    if locked is None:
        return find_interpreter(specification.python)
    try:
        return find_interpreter(f"=={locked}")
    except InputError:
        found = find_interpreter(locked.rpartition(".")[0])
        hear.step(f"Python {locked} of the lock was not found; Python {found.version} is used, so the hash will differ")
        return found


class _Builder:
    """Runs the commands of an installation, with everything that they print in its log."""

    def __init__(self, target: Path, log: IO[str], hear: Hear, lock: int):
        self.target, self.log, self.hear = target, log, hear
        self._lock = lock
        self.python = target / "bin" / "python"
        self._last: list[str] = []

    def run(self, command: Sequence[str], failing: str) -> None:
        """Raises RunError, which begins with `failing`, where the command fails."""
        print("$", *command, file=self.log, flush=True)
        self._last = []
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env=environment_for(),
                pass_fds=(self._lock,),
            )
        except OSError as error:
            raise RunError(f"{failing}: {command[0]}: {error.strerror or error}") from None
        assert process.stdout is not None
        with process:
            try:
                for line in process.stdout:
                    self.log.write(line)
                    if text := line.strip():
                        self._last = [*self._last[-200:], text]
                        self.hear.line(text)
            except BaseException:
                process.terminate()
                raise
        self.log.flush()
        if process.returncode != 0:
            raise RunError(f"{failing}: {self._reason()}; the whole log is {self.log.name}")

    def _reason(self) -> str:
        """The installer's own words for what went wrong."""
        pip = [line for line in self._last if line.startswith("ERROR:")]
        uv = [i for i, line in enumerate(self._last) if line.startswith(("error:", "×"))]
        words = pip[-2:] or self._last[uv[0] if uv else -1 :] or ["it said nothing"]
        return " ".join(words)[:500]


def _build(
    specification: RuntimeSpecification, wishes: Wishes, interpreter: Interpreter, builder: _Builder
) -> Installed:
    name, uv = specification.name, shutil.which("uv")
    installer = "pip" if uv is None else "uv"
    builder.hear.step(f"building {name} with {installer} for Python {interpreter.version} in {builder.target.parent}")
    _environment(uv, interpreter, builder)
    requirements = specification.packages
    if wishes.lock is not None:
        requirements = tuple(f"{package}=={version}" for package, version in sorted(wishes.lock.packages.items()))
    failing = f'the packages of the runtime "{name}" cannot be installed'
    builder.run([*_installing(uv, interpreter, builder.python, wishes.lock is not None), *requirements], failing)
    builder.hear.step(f"trying out {', '.join(specification.imports) or 'its interpreter'}")
    answer = _proved(specification, builder)
    if wishes.lock is not None and answer.packages != dict(wishes.lock.packages):
        more = sorted(set(answer.packages.items()) ^ set(wishes.lock.packages.items()))
        said = ", ".join("==".join(pair) for pair in more[:5])
        raise RunError(f"what was installed is not what the lock says: {said}")
    folder = builder.target.parent
    return Installed(
        name=name,
        environment=builder.target.name,
        python=answer.version,
        implementation=answer.implementation,
        made_of=os.path.realpath(builder.python),
        packages=dict(sorted(answer.packages.items())),
        hash=store.digest(answer.version, answer.implementation, answer.packages),
        specification=specification,
        installer=installer,
        size_bytes=store.size_of(builder.target),
        site=tuple(os.path.relpath(site, folder) for site in answer.site),
    )


def _environment(uv: str | None, interpreter: Interpreter, builder: _Builder) -> None:
    """A virtual environment with nothing in it, but pip where neither uv nor this interpreter's pip can install into
    it."""
    failing = f"a virtual environment of {interpreter.path} cannot be made"
    if uv is not None:
        builder.run([uv, "venv", "--no-project", "--python", interpreter.path, str(builder.target)], failing)
        return
    if _own_pip(interpreter.version):
        builder.run([interpreter.path, "-m", "venv", "--without-pip", str(builder.target)], failing)
        return
    try:
        builder.run([interpreter.path, "-m", "venv", str(builder.target)], failing)
    except RunError:
        if "ensurepip" not in Path(builder.log.name).read_text():
            raise
        version = interpreter.version.rpartition(".")[0]
        raise RunError(
            f"{interpreter.path} comes without ensurepip; install it with: apt-get install python{version}-venv"
        ) from None
    # Older Pythons put these there by themselves; what is in a runtime should not depend on that.
    builder.run([str(builder.python), "-m", "pip", "uninstall", "--quiet", "--yes", "setuptools", "wheel"], failing)


def _own_pip(version: str) -> bool:
    """Whether the pip beside this interpreter can install for another one of this version. To give each virtual
    environment a pip of its own takes seconds."""
    try:
        pip = importlib.metadata.distribution("pip")
    except importlib.metadata.PackageNotFoundError:
        return False
    able = tuple(int(number) for number in re.findall(r"\d+", pip.version)[:2]) >= PIP_FOR_OTHERS
    constraint = pip.metadata["Requires-Python"] or ""
    return able and is_constraint(constraint) and fits(version, constraint)


def _installing(uv: str | None, interpreter: Interpreter, python: Path, exactly: bool) -> list[str]:
    """The installer's command, without the requirements. Where packages come from is its own configuration."""
    alone = ["--no-deps"] if exactly else []
    if uv is not None:
        return [uv, "pip", "install", "--compile-bytecode", "--python", str(python), *alone, "--"]
    own = [sys.executable, "-m", "pip", "--python", str(python)]
    pip = own if _own_pip(interpreter.version) else [str(python), "-m", "pip"]
    quiet = ["--no-input", "--disable-pip-version-check", "--no-warn-script-location", "--progress-bar", "off"]
    return [*pip, "install", "--no-user", *quiet, *alone, "--"]


def _proved(specification: RuntimeSpecification, builder: _Builder) -> Answer:
    """What the new interpreter says of itself. Raises RunError where the runtime would not work."""
    who, wanted = f'the runtime "{specification.name}"', specification
    environment = environment_for(wanted.path, wanted.variables)
    try:
        answer = ask(builder.python, wanted.imports, tuple(wanted.system), environment)
    except NoAnswer as reason:
        raise RunError(f"the interpreter of {who} cannot be started: {reason}") from None
    problem = first_problem(list(unusable(answer, who, wanted.system, "")))
    if problem is not None:
        how = f"; {problem.sentence.rpartition('; ')[2]}: {problem.command}" if problem.command else ""
        said = problem.sentence.rpartition("; ")[0]
        raise RunError(f"{said}{how}. Nothing was installed; the whole log is {builder.log.name}")
    return answer
