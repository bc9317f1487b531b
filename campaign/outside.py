"""Faults that strike a session from outside: signals, locks, a server that dies."""

from __future__ import annotations

import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

from campaign.faults import Fault
from campaign.processes import send, workers
from campaign.server import Server

STALL_S = (0.2, 4.0)
"""A stall is shorter or longer than the limit of a step, which is 2 s."""
LOCK_S = 3.0


class Striker:
    """Strikes a session at the moments of its faults, in a thread of its own, until the session ends."""

    def __init__(
        self, faults: list[Fault], pid: int, mark: str, begun: Path, folder: Callable[[], Path | None],
        server: Server | None,
    ):  # fmt: skip
        self.faults, self.pid, self.mark, self.begun = faults, pid, mark, begun
        self.folder, self.server = folder, server
        self.struck: list[str] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> list[str]:
        """No more; the kinds that struck."""
        self._ended.set()
        self._thread.join()
        return self.struck

    def _run(self) -> None:
        began = time.monotonic()
        for fault in self.faults:
            if self._ended.wait(max(0.0, began + fault.at - time.monotonic())):
                return
            if DEEDS[fault.kind](self, fault):
                self.struck.append(fault.kind)

    def _signal(self, number: signal.Signals) -> bool:
        return send(self.pid, number)

    def _ask_to_end(self, number: signal.Signals) -> bool:
        """Not while Python itself starts, whose way to end is its own."""
        while not self.begun.exists():
            if self._ended.wait(0.01):
                return False
        self._ended.wait(0.05)
        return send(self.pid, number)

    def _kill_worker(self, fault: Fault) -> bool:
        """One of those that are there; where none is yet, the first that comes."""
        while not (found := workers(self.mark)):
            if self._ended.wait(0.02):
                return False
        return send(found[fault.choice % len(found)], signal.SIGKILL)

    def _stall(self, pid: int, fault: Fault) -> bool:
        if not send(pid, signal.SIGSTOP):
            return False
        self._ended.wait(STALL_S[fault.choice % 2])
        send(pid, signal.SIGCONT)
        return True

    def _stall_worker(self, fault: Fault) -> bool:
        found = workers(self.mark)
        return bool(found) and self._stall(found[fault.choice % len(found)], fault)

    def _lock(self) -> bool:
        """Hold the ledger as a curious user's tool might."""
        folder = self.folder()
        if folder is None or not (folder / "ledger.sqlite").is_file():
            return False
        try:
            other = sqlite3.connect(folder / "ledger.sqlite", timeout=0.2, isolation_level=None)
            other.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error:
            return False
        self._ended.wait(LOCK_S)
        other.execute("ROLLBACK")
        other.close()
        return True

    def _kill_server(self) -> bool:
        if self.server is None:
            return False
        self.server.kill()
        self.server.start()
        return True


DEEDS: dict[str, Callable[[Striker, Fault], bool]] = {
    "main killed": lambda striker, _: striker._signal(signal.SIGKILL),
    "main interrupted": lambda striker, _: striker._ask_to_end(signal.SIGINT),
    "main terminated": lambda striker, _: striker._ask_to_end(signal.SIGTERM),
    "main stalled": lambda striker, fault: striker._stall(striker.pid, fault),
    "worker killed": Striker._kill_worker,
    "worker killed while starting": Striker._kill_worker,
    "worker stalled": Striker._stall_worker,
    "ledger locked": lambda striker, _: striker._lock(),
    "server killed": lambda striker, _: striker._kill_server(),
}
