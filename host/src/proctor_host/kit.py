"""What is done with arrays where they lie: a few operations for tensors of torch on any device, and for numpy.

Everything here is queued where the device has a queue, and nothing waits for it but `Fetched.get`, `Mark.wait` and
what says so. On the processor the same calls do their work at once.
"""

from __future__ import annotations

import abc
import functools
import sys
import time
from typing import Any, Sequence

import numpy as np

from proctor_host.arrays import to_host, to_tensor


class Mark(abc.ABC):
    """A moment in the queue of a device."""

    @abc.abstractmethod
    def wait(self) -> None:
        """Until the device has come here."""

    @abc.abstractmethod
    def since(self, earlier: Any) -> float:
        """Seconds between two moments that have passed."""


class Fetched(abc.ABC):
    """Arrays on their way to the host."""

    @abc.abstractmethod
    def get(self) -> list[np.ndarray]:
        """Wait for them; on any thread."""


class Kit(abc.ABC):
    """Arrays of one device. `xp` is the module whose functions take them."""

    xp: Any
    on_host: bool
    """Whether the processor reads the arrays where they are."""

    @abc.abstractmethod
    def own(self, array: Any) -> Any:
        """An array of any library as one of these, where it lies."""

    @abc.abstractmethod
    def put(self, values: np.ndarray) -> Any:
        """A copy on the device. `values` may be changed afterwards."""

    @abc.abstractmethod
    def copy(self, array: Any) -> Any:
        """The same numbers in memory of their own."""

    @abc.abstractmethod
    def as_type(self, array: Any, dtype: np.dtype[Any]) -> Any:
        """The numbers in this type; the array itself where it has it."""

    @abc.abstractmethod
    def type_of(self, array: Any) -> np.dtype[Any]:
        """The array's type, as numpy says it. Raises TypeError for one that numpy does not have."""

    @abc.abstractmethod
    def bytes(self, count: int) -> Any:
        """Memory of the device."""

    @abc.abstractmethod
    def view(self, memory: Any, dtype: np.dtype[Any], shape: Sequence[int], strides: Sequence[int], at: int) -> Any:
        """An array over `memory`, from the byte `at` on; `strides` are in bytes. All are multiples of the size of a
        number."""

    @abc.abstractmethod
    def extremes(self, array: Any, least: Any, most: Any) -> None:
        """The least and the greatest number of each row `(rows, numbers)`; both NaN where the row has a NaN."""

    @abc.abstractmethod
    def mark(self) -> Mark:
        """The moment when everything that was queued so far is done."""

    @abc.abstractmethod
    def fetch(self, arrays: Sequence[Any], rows: np.ndarray | None = None) -> Fetched:
        """Bring arrays, or some rows of them, to the host."""

    def carry(self, memory: Any) -> tuple[Fetched, Mark]:
        """Bring `memory` to the host beside what is queued, and say when it has left."""
        raise NotImplementedError(f"{type(self).__name__}: the host reads its memory")

    def after(self, mark: Mark) -> None:
        """Queue what follows behind a moment of another queue."""
        raise NotImplementedError(f"{type(self).__name__}: there is no queue")


class _Passed(Mark):
    def __init__(self) -> None:
        self.at = time.perf_counter()

    def wait(self) -> None:
        """It has passed."""

    def since(self, earlier: _Passed) -> float:
        return self.at - earlier.at


class _Here(Fetched):
    def __init__(self, arrays: list[np.ndarray]):
        self._arrays = arrays

    def get(self) -> list[np.ndarray]:
        return self._arrays


class NumpyKit(Kit):
    """On the processor of an interpreter without torch."""

    xp, on_host = np, True

    def own(self, array: Any) -> Any:
        return to_host(array)

    def put(self, values: np.ndarray) -> Any:
        return np.array(values)

    def copy(self, array: Any) -> Any:
        return np.array(array)

    def as_type(self, array: Any, dtype: np.dtype[Any]) -> Any:
        if array.dtype == dtype:
            return array
        with np.errstate(over="ignore", invalid="ignore"):
            return array.astype(dtype)

    def type_of(self, array: Any) -> np.dtype[Any]:
        return array.dtype

    def bytes(self, count: int) -> Any:
        return np.empty(count, np.uint8)

    def view(self, memory: Any, dtype: np.dtype[Any], shape: Sequence[int], strides: Sequence[int], at: int) -> Any:
        return np.ndarray(tuple(shape), dtype, memory, at, tuple(strides))

    def extremes(self, array: Any, least: Any, most: Any) -> None:
        np.min(array, axis=1, out=least)
        np.max(array, axis=1, out=most)

    def mark(self) -> Mark:
        return _Passed()

    def fetch(self, arrays: Sequence[Any], rows: np.ndarray | None = None) -> Fetched:
        return _Here([np.array(array if rows is None else array[rows]) for array in arrays])


class TorchKit(Kit):
    """Tensors of torch on the processor."""

    on_host = True

    def __init__(self, device: str):
        import torch

        self.xp, self.device = torch, torch.device(device)

    def own(self, array: Any) -> Any:
        return array if type(array) is self.xp.Tensor else to_tensor(array)

    def put(self, values: np.ndarray) -> Any:
        return self.xp.from_numpy(np.array(values))

    def copy(self, array: Any) -> Any:
        return array.clone()

    def as_type(self, array: Any, dtype: np.dtype[Any]) -> Any:
        return array.to(_torch_type(self.xp, dtype))

    def type_of(self, array: Any) -> np.dtype[Any]:
        return _numpy_type(array.dtype)

    def bytes(self, count: int) -> Any:
        return self.xp.empty(count, dtype=self.xp.uint8, device=self.device)

    def view(self, memory: Any, dtype: np.dtype[Any], shape: Sequence[int], strides: Sequence[int], at: int) -> Any:
        size = dtype.itemsize
        flat = memory.view(_torch_type(self.xp, dtype))
        return flat.as_strided(tuple(shape), [stride // size for stride in strides], at // size)

    def extremes(self, array: Any, least: Any, most: Any) -> None:
        self.xp.aminmax(array, dim=1, out=(least, most))

    def mark(self) -> Mark:
        return _Passed()

    def fetch(self, arrays: Sequence[Any], rows: np.ndarray | None = None) -> Fetched:
        chosen = arrays if rows is None else [array[self.put(rows)] for array in arrays]
        return _Here([np.array(array.numpy()) for array in chosen])


class _Event(Mark):
    def __init__(self, torch: Any, stream: Any):
        self.event = torch.cuda.Event(enable_timing=True)
        self.event.record(stream)

    def wait(self) -> None:
        self.event.synchronize()

    def since(self, earlier: _Event) -> float:
        return earlier.event.elapsed_time(self.event) / 1e3


class _Pinned(Fetched):
    def __init__(self, kit: CudaKit, tensors: list[Any]):
        self._tensors, self.mark = tensors, kit.mark()

    def get(self) -> list[np.ndarray]:
        self.mark.wait()
        return [np.array(tensor.numpy()) for tensor in self._tensors]


class CudaKit(TorchKit):
    """Tensors of torch on a GPU, on the stream that is current for the thread that uses it. What goes to the host goes
    through pinned memory."""

    on_host = False

    def __init__(self, device: str):
        super().__init__(device)
        self._beside = self.xp.cuda.Stream(self.device)

    def put(self, values: np.ndarray) -> Any:
        return self.xp.from_numpy(np.array(values)).pin_memory().to(self.device, non_blocking=True)

    def mark(self) -> Mark:
        return _Event(self.xp, self.xp.cuda.current_stream(self.device))

    def fetch(self, arrays: Sequence[Any], rows: np.ndarray | None = None) -> Fetched:
        where = None if rows is None else self.put(rows)
        chosen = arrays if where is None else [array.index_select(0, where) for array in arrays]
        return _Pinned(
            self, [self.pinned(array.shape, array.dtype).copy_(array, non_blocking=True) for array in chosen]
        )

    def carry(self, memory: Any) -> tuple[Fetched, Mark]:
        stream = self._beside
        stream.wait_stream(self.xp.cuda.current_stream(self.device))
        with self.xp.cuda.stream(stream):
            coming = _Pinned(self, [self.pinned(memory.shape, memory.dtype).copy_(memory, non_blocking=True)])
        memory.record_stream(stream)
        return coming, coming.mark

    def after(self, mark: Mark) -> None:
        assert isinstance(mark, _Event)
        self.xp.cuda.current_stream(self.device).wait_event(mark.event)

    def pinned(self, shape: Sequence[int], dtype: Any) -> Any:
        """Memory of the host that the device can write to."""
        return self.xp.empty(tuple(shape), dtype=dtype, pin_memory=True)


def kit_of(device: str) -> Kit:
    """For arrays of this device. On the processor of an interpreter that never imported torch: numpy's."""
    if "torch" not in sys.modules and device == "cpu":
        return NumpyKit()
    return TorchKit(device) if device == "cpu" else CudaKit(device)


def same_device(one: str | None, other: str | None) -> bool:
    """Whether two names mean the same device: `cuda` is `cuda:0`."""
    return one is not None and other is not None and full_name(str(one)) == full_name(str(other))


def full_name(device: str) -> str:
    """With its number."""
    return "cuda:0" if device == "cuda" else device


_NAMES = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")


@functools.lru_cache(maxsize=None)
def _torch_type(torch: Any, dtype: np.dtype[Any]) -> Any:
    name = np.dtype(dtype).name
    if name not in _NAMES:
        raise TypeError(f"{name} is no type of arrays on a device; expected one of {', '.join(_NAMES)}")
    return getattr(torch, name)


@functools.lru_cache(maxsize=None)
def _numpy_type(dtype: Any) -> np.dtype[Any]:
    name = str(dtype).rpartition(".")[2]
    if name not in _NAMES:
        raise TypeError(f"arrays of {name} cannot be recorded; expected one of {', '.join(_NAMES)}")
    return np.dtype(name)
