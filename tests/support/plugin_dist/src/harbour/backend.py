"""A worker backend: workers on threads of the engine's process."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Sequence
from typing import Any, ClassVar

from proctor import Backend, BackendOptions, Board, EngineExtras, Host, Lost, Watch, Worker, WorkerCfg


class DeckOptions(BackendOptions):
    """`crew`: what the threads are called."""

    crew: str = "deck hand"


class DeckBackend(Backend):
    """Each worker is a thread, for environments that wait more than they compute."""

    name: ClassVar[str] = "harbour_deck"
    Options: ClassVar[type[BackendOptions]] = DeckOptions

    def hire(self, slots: int) -> Worker:
        return DeckWorker(self.cfg, slots, self.options.crew)


class DeckWorker(Worker):
    """Commands go to the thread by a queue; a byte in a pipe says that there are events."""

    def __init__(self, cfg: WorkerCfg, slots: int, name: str):
        self.slots = slots
        self._commands: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._ours, self._theirs = os.pipe()
        self._board, self._ends = Board(slots), False
        self._host = Host(cfg, self._board, self._say, Watch(), EngineExtras(cfg))
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def send(self, command: Any) -> None:
        self._commands.put(command)

    def columns(self, task: Any) -> Sequence[Any]:
        return self._board.columns(task.layout)

    def flush(self) -> None:
        """Everything has been sent already."""

    def events(self) -> list[Any]:
        found = []
        while not self._events.empty():
            os.read(self._ours, 1)
            found.append(self._events.get())
        return found

    def fileno(self) -> int:
        return self._ours

    def lost(self) -> Lost | None:
        gone = not self._thread.is_alive() and not self._ends
        return Lost("a deck hand went overboard", None, hung=False) if gone else None

    def drain(self) -> list[Any]:
        self.kill()
        return self.events()

    def kill(self) -> None:
        self._ends = True
        self._commands.put(None)
        self._thread.join()

    def _say(self, event: Any) -> None:
        self._events.put(event)
        os.write(self._theirs, b"!")

    def _serve(self) -> None:
        while True:
            try:
                command = self._commands.get(block=not self._host.busy)
            except queue.Empty:
                self._host.work(0.0)
                continue
            if command is None:
                self._host.close()
                return
            self._host.handle(command)
