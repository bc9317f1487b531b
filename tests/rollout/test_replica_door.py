"""The door of a replica: callers that do not prove themselves take a bounded number of threads."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from proctor.rollout.cluster import replica
from proctor.rollout.cluster.replica import Replica


class Door(Replica):
    """A replica without a policy."""

    def __init__(self) -> None:
        self._stopping, self._arrived = False, replica.deque()
        self._token, self._doors = b"t" * 32, threading.Semaphore(replica.MOST_UNPROVED)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._receive_callers, daemon=True)
        self._thread.start()


def until(found: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not found():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_callers_that_say_nothing_take_a_bounded_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    gate = threading.Event()
    monkeypatch.setattr(replica, "MOST_UNPROVED", 3)
    monkeypatch.setattr(Replica, "_ask_who", lambda self, sock: (asked.append(sock), gate.wait(60)))
    door = Door()
    callers = [socket.create_connection(door._listener.getsockname()) for _ in range(8)]
    until(lambda: len(asked) == 3)
    assert not door._doors.acquire(timeout=0.1), "all places are taken"
    gate.set()
    until(lambda: len(asked) == 8)
    door._stopping = True
    door._listener.shutdown(socket.SHUT_RDWR)
    door._thread.join(60)
    assert not door._thread.is_alive()
    for sock in [*callers, *asked, door._listener]:
        sock.close()
