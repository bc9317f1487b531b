"""The queue of a submission: files in a folder that all jobs see.

A parcel is taken by creating the file `<parcel>.<n>`, which only one job can; n counts how often it was taken. The
file with the highest n is the parcel's lease, and its owner touches it while it works. A lease that was not touched
for `lease_s` seconds is stale: whoever creates the file n + 1 goes on with the parcel, and its former owner, should
it live, sees that and stops. `<parcel>.done` and `<parcel>.failed` end a parcel. Times are those of the file system,
not of the nodes, whose clocks may differ.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAME = re.compile(r"(\d+)\.(\d+|done|failed)")


@dataclass
class State:
    """What the files of a queue say. `leases`: parcel -> how often it was taken."""

    leases: dict[int, int] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)


class Queue:
    """Parcels 1 to `count`."""

    def __init__(self, folder: Path, count: int, lease_s: float):
        self.folder, self.count, self.lease_s = folder, count, lease_s

    def state(self) -> State:
        state = State()
        for match in filter(None, map(NAME.fullmatch, os.listdir(self.folder))):
            parcel = int(match[1])
            if match[2].isdigit():
                state.leases[parcel] = max(state.leases.get(parcel, 0), int(match[2]))
            else:
                getattr(state, match[2]).add(parcel)
        return state

    def open(self) -> bool:
        """Whether a parcel has neither come to its end nor failed."""
        state = self.state()
        return len(state.done | state.failed) < self.count

    def held(self) -> int:
        """How many parcels are being worked on."""
        state = self.state()
        leases = [(c, n) for c, n in state.leases.items() if c not in state.done | state.failed]
        now = self._now() if leases else 0.0
        return sum(not self._stale(self._lease(parcel, taken), now) for parcel, taken in leases)

    def claim(self, owner: str) -> Lease | None:
        """The next parcel that nobody works on: first those that nobody has taken yet. None where there is none now."""
        state = self.state()
        rest = [c for c in range(1, self.count + 1) if c not in state.done | state.failed]
        now = self._now() if state.leases else 0.0
        for parcel in sorted(rest, key=lambda parcel: parcel in state.leases):
            taken = state.leases.get(parcel, 0)
            if taken and not self._stale(self._lease(parcel, taken), now):
                continue
            if (lease := self._take(parcel, taken + 1, owner)) is not None:
                return lease
        return None

    def end(self, parcel: int, how: str, said: dict[str, Any]) -> None:
        """Note that a parcel is `done` or has `failed`."""
        path = self._path(parcel, how)
        draft = path.with_name(f"draft-{path.name}-{os.getpid()}-{threading.get_ident()}")
        draft.write_text(json.dumps(said))
        draft.replace(path)

    def said(self, how: str) -> dict[int, dict[str, Any]]:
        """What was noted of the parcels that are `done` or have `failed`."""
        return {c: json.loads(self._path(c, how).read_text()) for c in sorted(getattr(self.state(), how))}

    def reopen_failed(self) -> None:
        for parcel in self.state().failed:
            self._path(parcel, "failed").unlink(missing_ok=True)

    def _take(self, parcel: int, taken: int, owner: str) -> Lease | None:
        path = self._lease(parcel, taken)
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            return None
        with os.fdopen(fd, "w") as file:
            file.write(owner)
        lease = Lease(parcel, path, self._lease(parcel, taken + 1), self.lease_s / 5)
        if self._path(parcel, "done").exists():  # it came to its end since the files were listed
            lease.give_back()
            return None
        return lease

    def _path(self, parcel: int, what: str) -> Path:
        return self.folder / f"{parcel:05d}.{what}"

    def _lease(self, parcel: int, taken: int) -> Path:
        return self._path(parcel, f"{taken:04d}")

    def _stale(self, lease: Path, now: float) -> bool:
        return now - lease.stat().st_mtime > self.lease_s

    def _now(self) -> float:
        clock = self.folder / "clock"
        clock.touch()
        return clock.stat().st_mtime


@dataclass
class Lease:
    """A parcel that this process has taken. `successor` exists once another one has taken it over."""

    parcel: int
    path: Path
    successor: Path
    every_s: float

    @property
    def first(self) -> bool:
        return self.path.name.endswith(".0001")

    @property
    def lost(self) -> bool:
        return self.successor.exists()

    def give_back(self) -> None:
        """From now on the parcel may be taken at once."""
        os.utime(self.path, (0, 0))


class Heartbeat:
    """Touches a lease in this context; calls `lost` once where another process has taken it over."""

    def __init__(self, lease: Lease, lost: Callable[[], None]):
        self._lease, self._lost = lease, lost
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._end.wait(self._lease.every_s):
            try:
                if self._lease.lost:
                    self._lost()
                    return
                os.utime(self._lease.path)
            except OSError:
                continue  # a file server that is away for a while
