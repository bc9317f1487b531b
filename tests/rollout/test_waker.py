"""The pipe that wakes the engine's loop: no wake-up is lost, and none wakes the loop for ever."""

from __future__ import annotations

import os
import select
from collections.abc import Callable

import pytest

from proctor.rollout.thread import Waker


def readable(waker: Waker) -> bool:
    poll = select.poll()
    poll.register(waker.fd, select.POLLIN)
    return bool(poll.poll(0))


def test_wake_ups_until_the_next_look_are_one() -> None:
    waker = Waker()
    for _ in range(3):
        waker.wake()
    assert readable(waker)
    waker.clear()
    assert not readable(waker)
    waker.wake()
    assert readable(waker)
    waker.close()


def test_a_loop_that_looks_while_it_is_being_woken_sleeps_again_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    waker, write = Waker(), os.write

    def interrupted(look: Callable[[], None]) -> Callable[[int, bytes], int]:
        def between(fd: int, data: bytes) -> int:
            look()
            return write(fd, data)

        return between

    monkeypatch.setattr(os, "write", interrupted(waker.clear))
    waker.wake()
    monkeypatch.undo()
    assert readable(waker), "the wake-up is not lost"
    waker.clear()
    assert not readable(waker), "nor does it wake for ever"
    waker.wake()
    assert readable(waker)
    waker.close()
