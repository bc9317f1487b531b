"""Compiled kernels, ready before they are needed.

numba compiles a kernel when it is first called and keeps it on disk. That takes some seconds, once for a machine and a
version; in a run, every worker would do it by itself, in the middle of a trial. So a suite names functions that call
each of its kernels once, and a run calls those first, in processes of their own, several at a time. A mark beside what
is kept says that it has been done.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import logging
import os
import platform
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from proctor.interpreters import command

HERE = Path(__file__).parent
WAIT_S = 0.1

log = logging.getLogger("proctor")


def compile_first(targets: Iterable[str], waiting: Callable[[], None]) -> None:
    """Call the functions behind these import strings, unless that has been done before on this machine. `waiting` is
    called while it lasts. What goes wrong is logged: whoever needs the kernel will meet it again."""
    todo = {target: mark for target in targets if not (mark := _mark(target)).exists()}
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        while todo or running:
            while todo and len(running) < (os.cpu_count() or 1):
                target = next(iter(todo))
                running[target] = _start(target, todo.pop(target))
            for target, process in list(running.items()):
                if process.poll() is not None:
                    del running[target]
                    if process.returncode:
                        log.warning("compiling %s beforehand failed with exit code %d", target, process.returncode)
            waiting()
            if running:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    next(iter(running.values())).wait(WAIT_S)
    finally:
        for process in running.values():
            process.kill()
            process.wait()


def kept(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit` that keeps on disk what it compiles. Where neither the folder of the source nor the user's cache can
    be written to, or the disk is full, each process compiles for itself."""
    from numba import njit

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher: Any = njit(**options)(function)
        try:
            dispatcher.enable_caching()
        except RuntimeError:
            return dispatcher
        save = dispatcher._cache.save_overload

        def save_if_there_is_room(*args: Any) -> None:
            with contextlib.suppress(OSError):
                save(*args)

        dispatcher._cache.save_overload = save_if_there_is_room
        return dispatcher

    return compiled


def checksum(folder: Path) -> int:
    """Of the Python files of a folder; never 0. numba looks only at the file of the function that is called to see
    whether what it kept is still true, and at the values that the function captures: so one that calls functions of
    other files captures this."""
    return 1 + zlib.crc32(b"".join(file.read_bytes() for file in sorted(folder.glob("*.py"))))


def main(target: str, mark: str) -> None:
    """In a process of its own: call the function, then leave the mark."""
    from proctor.registry import import_object

    import_object(target)()
    Path(mark).parent.mkdir(parents=True, exist_ok=True)
    Path(mark).touch()


def _start(target: str, mark: Path) -> subprocess.Popen[bytes]:
    line = command("from proctor.kernels import main; main(*sys.argv[1:])", target, str(mark))
    return subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def _mark(target: str) -> Path:
    """The file that says that these sources have been compiled here, by this numba, for this kind of machine."""
    digest = hashlib.sha256()
    parts = (target, sys.version, _numba_version(), platform.machine(), platform.processor(), platform.node())
    digest.update("|".join((*parts, os.environ.get("NUMBA_CACHE_DIR", ""))).encode())
    for path in _sources(target):
        stat = path.stat()
        digest.update(f"{path}|{stat.st_mtime_ns}|{stat.st_size}".encode())
    return _folder() / f"kernels-{digest.hexdigest()[:24]}.compiled"


def _folder() -> Path:
    beside = HERE / "__pycache__"
    if os.access(beside if beside.exists() else HERE, os.W_OK):
        return beside
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "proctor"


def _numba_version() -> str:
    try:
        return importlib.metadata.version("numba")
    except importlib.metadata.PackageNotFoundError:
        return ""


def _sources(target: str) -> list[Path]:
    """The Python files of the function's package, and below it."""
    module = target.partition(":")[0].rpartition(".")[0]
    spec = importlib.util.find_spec(module)
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    return sorted(path for folder in folders for path in Path(folder).rglob("*.py"))
