"""What a run is doing: done, running, stopped or ended without a word; how far it is, and how it goes.

Whether a run goes on is read from what it leaves in its folder: the file `lock` names the process that works on it and
is emptied when that ends by itself; `live.json` has what the process said last (`proctor.runs.pulse`). No lock is
taken, so that nothing waits for the viewer.
"""

from __future__ import annotations

import os
import re
import socket
import time
from pathlib import Path
from typing import Any

from proctor.foreign import read_json

_HOLDER = re.compile(r"process (\d{1,10}) on (.{1,200})")
QUIET_S = 30.0
"""After so long without a sign of life a run on another machine is said to be quiet."""


def state_of(run: Path, planned: int, done: int, spared: int = 0) -> dict[str, Any]:
    """`state` is "running", "done", "stopped", "ended" (its process is gone and has said nothing) or "quiet"; `why` is
    a sentence on all but the first two."""
    holder = _holder(run)
    if holder is not None:
        pid, host = holder
        silent_s = time.time() - last_sign(run)
        if host == socket.gethostname():
            if _alive(pid):
                return {"state": "running", "pid": pid, "host": host}
            said = f"Process {pid} is gone and did not end by itself: it was killed, or the machine was."
            return _open(run, "ended", planned, done, said, pid=pid, host=host)
        if silent_s < QUIET_S:
            return {"state": "running", "pid": pid, "host": host}
        said = f"Process {pid} on {host} has written nothing for {silent_s:.0f} s; only {host} knows whether it runs."
        return _open(run, "quiet", planned, done, said, pid=pid, host=host)
    if done + spared >= planned:
        return {"state": "done"}
    return _open(run, "stopped", planned, done, "It was stopped before all trials were done.")


def is_running(run: Path) -> bool:
    """Whether a process works on it."""
    return state_of(run, 1, 0)["state"] == "running"


def _open(run: Path, state: str, planned: int, done: int, said: str, **more: Any) -> dict[str, Any]:
    if done >= planned and state == "ended":
        return {"state": "ended", "why": f"{said} All trials are done.", "resume": f"proctor report {run}", **more}
    return {"state": state, "why": said, "resume": f"proctor resume {run}", **more}


def last_sign(run: Path) -> float:
    """When something was last written by the run, as seconds since 1970."""
    times = []
    for name in ("ledger.sqlite", "ledger.sqlite-wal", "live.json", "run.log", "lock"):
        try:
            times.append(os.stat(run / name).st_mtime)
        except OSError:
            continue
    return max(times, default=0.0)


def pulse_of(run: Path) -> dict[str, Any] | None:
    """What the run said last of itself, while it goes on or where it ended without a word; None where there is
    nothing."""
    try:
        found = read_json(run / "live.json")
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _holder(run: Path) -> tuple[int, str] | None:
    """The process that works on a run, or worked on it when it was killed."""
    try:
        with (run / "lock").open("rb") as file:
            text = file.read(300).decode(errors="replace")
    except OSError:
        return None
    match = _HOLDER.fullmatch(text.strip())
    return None if match is None else (int(match[1]), match[2])


def _alive(pid: int) -> bool:
    """Whether a process of this machine runs; one that has ended and waits to be noticed does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] != "Z"
