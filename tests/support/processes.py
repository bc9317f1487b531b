"""Who runs on this machine, for tests that kill somebody or look for what is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def children(parent: int) -> list[int]:
    """The processes of this parent."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1]) == parent:
                found.append(int(folder.name))
        except (OSError, IndexError):
            continue
    return found


def keepers(engine: int) -> list[int]:
    """The keepers of the workers that this process runs."""
    return [pid for pid in children(engine) if _is_keeper(pid)]


def workers(engine: int) -> list[int]:
    """The workers that this process runs: forks of their keepers, which may have other children."""
    return [pid for keeper in keepers(engine) for pid in children(keeper) if _is_keeper(pid)]


def _is_keeper(pid: int) -> bool:
    return b"proctor_host.keeper" in Path(f"/proc/{pid}/cmdline").read_bytes()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for(condition: Callable[[], object]) -> None:
    """Until it holds; a minute at most."""
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)
