"""Files as joblib writes them, without joblib: the bytes of arrays stand between the opcodes of the pickle. The test on
BFM-Zero's code, which has joblib, compares the two byte for byte."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

ALIGNMENT = 16


class NumpyArrayWrapper:
    """What stands in the place of an array."""

    def __init__(self, array: np.ndarray, aligned: bool):
        self.subclass, self.shape = type(array), array.shape
        self.order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        self.dtype, self.allow_mmap = array.dtype, not array.dtype.hasobject
        if aligned:
            self.numpy_array_alignment_bytes = ALIGNMENT


NumpyArrayWrapper.__module__ = "joblib.numpy_pickle"


class _Pickler(pickle._Pickler):  # pyright: ignore[reportAttributeAccessIssue]
    def __init__(self, file: io.BytesIO, aligned: bool):
        super().__init__(file, 4)
        self._out, self._aligned = file, aligned

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        if type(obj) is not np.ndarray or obj.dtype.hasobject:
            return super().save(obj, save_persistent_id)
        wrapper = NumpyArrayWrapper(obj, self._aligned)
        super().save(wrapper)
        self.framer.commit_frame(force=True)
        if self._aligned:
            padding = ALIGNMENT - (self._out.tell() + 1) % ALIGNMENT
            self._out.write(bytes([padding]) + b"\xff" * padding)
        self._out.write(obj.tobytes("F" if wrapper.order == "F" else "C"))
        return None

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Without looking the class up in a package that is not there."""
        if obj is not NumpyArrayWrapper:
            return super().save_global(obj, name)
        self.save("joblib.numpy_pickle")
        self.save("NumpyArrayWrapper")
        self.write(pickle.STACK_GLOBAL)
        self.memoize(obj)
        return None

    dispatch: ClassVar[dict[Any, Any]] = {**pickle._Pickler.dispatch, type: save_global}  # pyright: ignore[reportAttributeAccessIssue]


def dumps(value: Any, aligned: bool = True) -> bytes:
    """What `joblib.dump` writes; `aligned`: as joblib 1.2 and later."""
    file = io.BytesIO()
    _Pickler(file, aligned).dump(value)
    return file.getvalue()


def dump(value: Any, path: Path, aligned: bool = True) -> Path:
    """As `joblib.dump(value, path)`."""
    path.write_bytes(dumps(value, aligned))
    return path
