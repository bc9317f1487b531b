"""Rounds of all worlds of a device, a block of them at a time: the stretch that trials on a device have their steps in.

What a round gave is packed on the device, so that a world's step is one row of bytes and its steps of a block lie side
by side; a full block of rounds is brought to the host while the next one is being filled. A trial's rows are cut out
when it has ended, all quantities together; blocks that no trial needs any more are let go of.
"""

from __future__ import annotations

import threading
from collections import deque
from queue import Queue
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Tuple

import numpy as np

from proctor_host.kit import Fetched, Kit, Mark

BLOCK_BYTES, BLOCK_ROUNDS = 256 << 20, 64
"""Of one block at most, but a round at least."""
BUFFERS = 3
"""Blocks on a device: one that is filled, and those on their way."""

Kind = Tuple[Any, Tuple[int, ...]]
"""Type, as numpy says it, and shape of what one world has in one round."""


class Field(NamedTuple):
    """Where one quantity lies in a row of bytes."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    at: int


class Packing:
    """How quantities, each with its type and shape, lie in one row of bytes. Those with the largest numbers come first,
    so that every number lies at a multiple of its size."""

    def __init__(self, kinds: Mapping[str, Kind]):
        self.kinds = dict(kinds)
        self.fields: list[Field] = []
        at = 0
        for name, (dtype, shape) in sorted(self.kinds.items(), key=lambda item: -item[1][0].itemsize):
            self.fields.append(Field(name, dtype, shape, at))
            at += dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        self.nbytes = max(-(-at // 8) * 8, 8)

    def views(self, kit: Kit, memory: Any, rounds: int, worlds: int) -> list[dict[str, Any]]:
        """For each round the arrays `(worlds, *shape)` over its rows."""
        whole = {
            field.name: kit.view(
                memory,
                field.dtype,
                (rounds, worlds, *field.shape),
                (self.nbytes, rounds * self.nbytes, *_strides(field)),
                field.at,
            )
            for field in self.fields
        }
        return [{name: array[i] for name, array in whole.items()} for i in range(rounds)]

    def unpacked(self, rows: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """The quantities in rows of bytes `(n, nbytes)`, as views."""
        for field in self.fields:
            strides = (self.nbytes, *_strides(field))
            yield field.name, np.ndarray((len(rows), *field.shape), field.dtype, rows, field.at, strides)


def _strides(field: Field) -> tuple[int, ...]:
    found, step = [], field.dtype.itemsize
    for length in reversed(field.shape):
        found.append(step)
        step *= length
    return tuple(reversed(found))


class Buffer:
    """Memory of the device for one block."""

    def __init__(self, kit: Kit, packing: Packing, rounds: int, worlds: int):
        self.memory = kit.bytes(rounds * worlds * packing.nbytes)
        self.rounds = packing.views(kit, self.memory, rounds, worlds)
        self.left: Mark | None = None
        """When what was last in it had left."""


class Landed:
    """A block on the host: `rows` `(worlds, rounds, bytes)`, of which `first` is the first round. `place` says where in
    `rows` a world is, once worlds that nobody needs have been left out."""

    __slots__ = ("first", "place", "rows", "stop")

    def __init__(self, first: int, rows: np.ndarray):
        self.first, self.stop, self.rows = first, first + rows.shape[1], rows
        self.place: np.ndarray | None = None

    def of(self, world: int, first: int, stop: int) -> np.ndarray:
        """One world's rows in these rounds, as far as they lie here."""
        at = world if self.place is None else self.place[world]
        return self.rows[at, max(first - self.first, 0) : stop - self.first]

    def thin(self, needed: np.ndarray) -> None:
        """Keep the rows of these worlds `(worlds,)` alone, where that frees half of the memory."""
        count = int(needed.sum())
        if 2 * count > len(self.rows):
            return
        kept = np.flatnonzero(needed)
        self.rows = self.rows[kept if self.place is None else self.place[kept]]
        self.place = np.cumsum(needed) - 1


class Blocks:
    """Rounds that take in all worlds. They have numbers that go on from `start`. `arrived` is called, on another thread
    where the device needs one, when more of them lie on the host."""

    def __init__(self, kit: Kit, worlds: int, kinds: Mapping[str, Kind], start: int, arrived: Callable[[], None]):
        self.packing, self._kit, self._worlds, self._arrived = Packing(kinds), kit, worlds, arrived
        nbytes = worlds * self.packing.nbytes
        self.length = max(1, min(BLOCK_ROUNDS, BLOCK_BYTES // nbytes))
        self.count = self.landed = start
        """Rounds written, and rounds that lie on the host: the numbers of the next ones."""
        self._first, self._filled = start, 0
        self._buffers: list[Buffer] = []
        self._now: Buffer | None = None
        self._turn = 0
        self._lock = threading.Lock()
        self._host: deque[Landed] = deque()
        self._way: Queue[tuple[int, int, Fetched] | None] | None = None
        self._on_way = threading.Semaphore(BUFFERS)
        self._carrier: threading.Thread | None = None
        self._failed: BaseException | None = None

    def write(self, values: Mapping[str, Any]) -> None:
        """Write a round: an array of the device for each quantity. Nothing waits, unless every buffer is on its way."""
        buffer = self._now or self._next_buffer()
        for name, into in buffer.rounds[self._filled].items():
            into[...] = values[name]
        self._filled += 1
        self.count += 1
        if self._filled == self.length:
            self.flush()

    def flush(self) -> None:
        """Bring what has been written to the host, though the block is not full."""
        if self._failed is not None:
            raise self._failed
        buffer, first, filled = self._now, self._first, self._filled
        if buffer is None or not filled:
            return
        self._now, self._first, self._filled = None, self.count, 0
        if self._kit.on_host:
            self._land(first, filled, np.asarray(buffer.memory))
            return
        self._on_way.acquire()
        fetched, buffer.left = self._kit.carry(buffer.memory)
        if self._way is None:
            self._way = Queue()
            self._carrier = threading.Thread(target=self._carry, name="proctor-carrier", daemon=True)
            self._carrier.start()
        self._way.put((first, filled, fetched))

    def _next_buffer(self) -> Buffer:
        kit = self._kit
        if kit.on_host:
            self._now = Buffer(kit, self.packing, self.length, self._worlds)
            return self._now
        if len(self._buffers) < BUFFERS:
            self._buffers.append(Buffer(kit, self.packing, self.length, self._worlds))
        buffer = self._now = self._buffers[self._turn % BUFFERS]
        self._turn += 1
        if buffer.left is not None:
            kit.after(buffer.left)
        return buffer

    def _carry(self) -> None:
        """Take blocks in as they come."""
        way = self._way
        assert way is not None
        while (coming := way.get()) is not None:
            try:
                first, filled, fetched = coming
                self._land(first, filled, fetched.get()[0])
            except BaseException as problem:
                self._failed = problem
                self._arrived()
                return
            finally:
                self._on_way.release()

    def _land(self, first: int, filled: int, memory: np.ndarray) -> None:
        shape = (self._worlds, self.length, self.packing.nbytes)
        with self._lock:
            self._host.append(Landed(first, memory.reshape(shape)[:, :filled]))
            self.landed = first + filled
        self._arrived()

    def has(self, stop: int) -> bool:
        """Whether the rounds before this one have come, or never will."""
        return self.landed >= stop or self._failed is not None

    def cut(self, world: int, first: int, stop: int) -> np.ndarray:
        """What one world has in the rounds from `first` to `stop`, packed. They must lie on the host, see `has`. On any
        thread. Raises what kept a block from coming."""
        if self._failed is not None:
            raise self._failed
        with self._lock:
            pieces = [block.of(world, first, stop) for block in self._host if block.first < stop and block.stop > first]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def forget(self, needed_from: np.ndarray) -> None:
        """Let go of what nobody needs: `needed_from` has, for each world, the first round that is still needed."""
        oldest = int(needed_from.min())
        with self._lock:
            while self._host and self._host[0].stop <= oldest:
                self._host.popleft()
            for block in self._host:
                needed = needed_from < block.stop
                if 2 * needed.sum() > self._worlds:
                    break  # younger ones are needed by more
                block.thin(needed)

    def close(self) -> None:
        """End the carrier, when everything has come."""
        if self._way is not None and self._carrier is not None:
            self._way.put(None)
            self._carrier.join()
            self._way = None


def column_kinds(kit: Kit, values: Mapping[str, Any]) -> dict[str, Kind]:
    """Type and shape of a row of each array. Raises TypeError for what cannot be recorded."""
    return {name: (kit.type_of(array), tuple(array.shape[1:])) for name, array in values.items()}
