"""Where runtimes are, for all projects of a user.

    FOLDER/                       $PROCTOR_RUNTIMES, else $XDG_CACHE_HOME/proctor/runtimes
      NAME/
        runtime.json              what is installed; without it, nothing is
        lock.txt                  the exact versions, to build the same elsewhere
        install.log               what the installer said
        checked.json              when it was last seen to be in order
        python-1a2b3c4d/          the virtual environment that runtime.json names
      .NAME.lock                  held while somebody installs or removes NAME

A virtual environment cannot be moved: its scripts know where they are. So it is built where it will stay, under a new
name, and it counts from the moment that `runtime.json`, replaced in one step, names it. Any other is left over from an
installation that was interrupted, and the next one removes it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from proctor.errors import InputError
from proctor.foreign import read_json
from proctor.record.files import write_synced
from proctor.runtimes.recipes import RuntimeSpecification

FORMAT = 1
BUILT = "python-"
"""The beginning of the name of a virtual environment."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(@[A-Za-z0-9][A-Za-z0-9.+!_-]*)?")

LOCKED = re.compile(r"[A-Za-z0-9][\w.-]*==[\w.+!-]+")
"""A line of a lock."""


def is_name(text: str) -> bool:
    """Whether a runtime can have this name."""
    return _NAME.fullmatch(text) is not None


def folder() -> Path:
    """The folder of all runtimes, which need not exist."""
    own = os.environ.get("PROCTOR_RUNTIMES")
    if own:
        return Path(own).expanduser().absolute()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser().absolute() / "proctor" / "runtimes"


def folder_of(name: str) -> Path:
    """The folder of one runtime. Raises InputError for what is no name of one."""
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} is no name of a runtime; `proctor runtimes list` shows them")
    return folder() / name


@dataclass(frozen=True)
class Installed:
    """A runtime as `runtime.json` describes it."""

    name: str
    environment: str
    """The virtual environment's folder, in the runtime's."""
    python: str
    """Version of Python."""
    implementation: str
    made_of: str
    """The interpreter that the virtual environment was made of."""
    packages: Mapping[str, str]
    hash: str
    specification: RuntimeSpecification
    installer: str
    size_bytes: int
    site: tuple[str, ...]
    """Folders with packages, from the runtime's folder."""

    @property
    def folder(self) -> Path:
        return folder_of(self.name)

    @property
    def interpreter(self) -> Path:
        return self.folder / self.environment / "bin" / "python"

    def as_dict(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self), "specification": self.specification.as_dict()}

    def write(self) -> None:
        """Make this what is installed."""
        write_synced(self.folder / "runtime.json", (json.dumps(self.as_dict(), indent=2) + "\n").encode())
        self.write_lock()

    def write_lock(self) -> None:
        text = lock_text(self).encode()
        if _bytes(self.folder / "lock.txt") != text:
            write_synced(self.folder / "lock.txt", text)


def read(name: str) -> Installed | None:
    """What is installed under a name; None where nothing is. Raises InputError where its file is damaged."""
    path = folder_of(name) / "runtime.json"
    try:
        data = read_json(path)
        if data.get("format") != FORMAT:
            raise ValueError(f"its format is {data.get('format')}; this version of Proctor writes {FORMAT}")
        data.pop("format")
        specification = RuntimeSpecification.from_dict(data.pop("specification"))
        return Installed(**{**data, "site": tuple(data["site"]), "specification": specification, "name": name})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise Damaged(f"{path} cannot be read ({error})") from None


class Damaged(InputError):
    """`runtime.json` cannot be read."""


def read_quietly(name: str) -> Installed | None:
    """As `read`; None also where the name is none or the file is damaged."""
    try:
        return read(name)
    except InputError:
        return None


def names() -> list[str]:
    """Every name that has a folder, in order."""
    with suppress(OSError), os.scandir(folder()) as entries:
        return sorted(e.name for e in entries if e.is_dir() and _NAME.fullmatch(e.name))
    return []


def unfinished(name: str, besides: str | None = None) -> list[Path]:
    """Virtual environments that were begun and never came to count."""
    with suppress(OSError), os.scandir(folder_of(name)) as entries:
        return sorted(Path(e.path) for e in entries if e.name.startswith(BUILT) and e.name != besides)
    return []


def digest(python: str, implementation: str, packages: Mapping[str, str]) -> str:
    """What tells one runtime from another: interpreter and exact versions, whoever installed them, and where."""
    lines = [f"{implementation} {python}", *(f"{name}=={packages[name]}" for name in sorted(packages))]
    return hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()


@dataclass(frozen=True)
class Lock:
    """The exact versions of a runtime, as `lock.txt` has them."""

    name: str | None
    python: str | None
    packages: Mapping[str, str]
    hash: str | None


def lock_text(installed: Installed) -> str:
    """`lock.txt`: a requirements file with a head."""
    return locked(
        installed.name, {key: getattr(installed, key) for key in ("python", "implementation", "packages", "hash")}
    )


def locked(name: str | None, identity: Mapping[str, Any]) -> str:
    """The lock of a runtime with this identity (`Located.identity`), for a name or for none."""
    head = [f"# runtime {name}"] if name is not None else []
    head += [f"# {identity['implementation']} {identity['python']}", f"# hash {identity['hash']}"]
    packages = identity["packages"]
    return "\n".join([*head, *(f"{package}=={packages[package]}" for package in sorted(packages)), ""])


def read_lock(path: Path) -> Lock:
    """A lock. Raises InputError where the file is none."""
    try:
        lines = [line.strip() for line in path.read_text().splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the lock {path} cannot be read: {error}") from None
    head = {words[0]: words[1] for line in lines if line[0] == "#" and len(words := line[1:].split()) == 2}
    found: dict[str, str] = {}
    for line in lines:
        if line.startswith("#"):
            continue
        name, _, version = line.partition("==")
        if not LOCKED.fullmatch(line):
            raise InputError(f'the lock {path} says "{line[:80]}"; expected name==version, as in a runtime\'s lock.txt')
        found[re.sub(r"[-_.]+", "-", name).lower()] = version
    python = next((head[kind] for kind in ("cpython", "pypy", "graalvm") if kind in head), None)
    return Lock(head.get("runtime"), python, found, head.get("hash"))


def remove_tree(path: Path) -> None:
    """Remove a folder, whatever rights its files have."""
    shutil.rmtree(path, ignore_errors=True)
    if path.exists():
        for inner, _, _ in os.walk(path):
            with suppress(OSError):
                os.chmod(inner, 0o700)
        shutil.rmtree(path)


def size_of(path: Path) -> int:
    """Bytes of all files below a folder."""
    total = 0
    for inner, _, files in os.walk(path):
        for file in files:
            with suppress(OSError):
                total += os.lstat(os.path.join(inner, file)).st_size
    return total


@contextmanager
def held(name: str, waiting: Callable[[str], None]) -> Iterator[int]:
    """Within, nobody else installs or removes this runtime. Waits for whoever does, after telling so. Gives the lock's
    file descriptor: a process that inherits it keeps the lock for as long as it lives, also when this one dies."""
    path = folder_of(name).with_name(f".{name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise InputError(
            f"runtimes cannot be kept in {path.parent}: {error.strerror or error}; set PROCTOR_RUNTIMES to a folder "
            "that can be written to"
        ) from None
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting(f'somebody else is installing the runtime "{name}"; waiting')
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield fd
    finally:
        os.close(fd)


def is_held(name: str) -> bool:
    """Whether somebody installs or removes this runtime right now."""
    try:
        fd = os.open(folder_of(name).with_name(f".{name}.lock"), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
