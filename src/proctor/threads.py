"""How many threads numeric libraries compute with.

A kernel shares a sum among its threads, and another share rounds otherwise: a trial's bytes may depend on the number.
So policies are asked and environments are stepped within `pinned`, with one number in the engine's process, in every
worker, in a server and in an evaluation inside training. It is what the environment's variables say, or 1.

Three things have to be told. Libraries that are loaded later, and processes that are started, read variables. BLAS
libraries that are loaded keep one number for the process. Torch keeps one for each thread, and a new thread begins with
that of the machine; so whoever calls a policy on a thread says `hold` there first.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from proctor.errors import InputError, RunError

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def wanted() -> int:
    """What the first of these variables says that is set; 1 where none is. Raises InputError for anything but a
    number of threads."""
    for name in VARIABLES:
        text = os.environ.get(name, "").strip()
        if text:
            first = text.split(",")[0].strip()  # OMP_NUM_THREADS may have more, for parallel regions within others
            if not first.isdecimal() or int(first) < 1:
                raise InputError(f'found {name}="{text}"; expected a number of threads, 1 or more')
            return int(first)
    return 1


@contextmanager
def pinned(threads: int | None = None) -> Iterator[int]:
    """Numeric libraries compute with so many threads (None: what is `wanted`) until the block ends; then everything is
    as it was. Blocks may overlap if they agree. Raises RunError where another block of this process has another
    number."""
    number = wanted() if threads is None else threads
    block = _PIN.enter(number)
    try:
        yield number
    finally:
        _PIN.leave(block)


def abandon(thread: threading.Thread) -> None:
    """Blocks of this thread, which hangs and will not be waited for, bind nobody any longer."""
    _PIN.abandon(thread)


def pinned_number() -> int | None:
    """What this process is pinned to at the moment; None outside `pinned`."""
    return _PIN.number


def hold() -> None:
    """The calling thread computes with the pinned number, too; nothing happens outside `pinned`."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and _PIN.number is not None:
        torch.set_num_threads(_PIN.number)


class _Block:
    """One `pinned` block, and the thread that it is in."""

    def __init__(self) -> None:
        self.thread = threading.current_thread()


class _Pin:
    """The number of this process, while somebody is within `pinned`."""

    def __init__(self) -> None:
        self.number: int | None = None
        self._lock = threading.Lock()
        self._blocks: set[_Block] = set()
        self._undo = ExitStack()

    def enter(self, number: int) -> _Block:
        with self._lock:
            if self.number not in (None, number):
                raise RunError(
                    f"this process computes with {self.number} numeric threads at the moment, for another run; "
                    f"{number} are asked for. Let the other run end first, or use another process"
                )
            if not self._blocks:
                self.number = number
                _change(self._undo, number)
            block = _Block()
            self._blocks.add(block)
            return block

    def leave(self, *blocks: _Block) -> None:
        with self._lock:
            left = self._blocks.intersection(blocks)  # what was abandoned has been left before
            self._blocks -= left
            if left and not self._blocks:
                self.number = None
                self._undo.close()

    def abandon(self, thread: threading.Thread) -> None:
        with self._lock:
            blocks = [block for block in self._blocks if block.thread is thread]
        self.leave(*blocks)


_PIN = _Pin()


def _change(undo: ExitStack, number: int) -> None:
    """Pin what is loaded and what will be. What is loaded meanwhile gets the machine's number afterwards."""
    from threadpoolctl import ThreadpoolController

    before = {name: os.environ.get(name) for name in VARIABLES}
    default = wanted() if any(before.values()) else cores()
    os.environ.update(dict.fromkeys(VARIABLES, str(number)))
    pools = ThreadpoolController().lib_controllers  # takes milliseconds: it looks at every library of the process
    known = {pool.filepath: pool.get_num_threads() for pool in pools}
    torch: Any = sys.modules.get("torch")
    torch_threads = default if torch is None else torch.get_num_threads()

    def give_back() -> None:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        for pool in ThreadpoolController().lib_controllers:
            pool.set_num_threads(known.get(pool.filepath, default))
        if torch := sys.modules.get("torch"):
            torch.set_num_threads(torch_threads)

    undo.callback(give_back)
    for pool in pools:
        pool.set_num_threads(number)
    hold()
