"""Reading pickles without running them.

A pickle may name any callable and have it called. The reader here resolves a short list of names only: what rebuilds
numpy arrays and plain containers.
"""

from __future__ import annotations

import collections
import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import InputError


class Forbidden(pickle.UnpicklingError):
    """The pickle names something that is not on the list."""


class RestrictedUnpickler(pickle.Unpickler):
    """Arrays, numbers, strings and plain containers; any other name raises Forbidden."""

    def find_class(self, module: str, name: str) -> Any:
        root = module.replace("numpy.core", "numpy._core").replace("__builtin__", "builtins")
        if (root, name) in _ALLOWED:
            return _ALLOWED[root, name]
        if (root, name) == ("numpy._core.numeric", "_frombuffer"):
            return lambda buffer, dtype, shape, order: np.frombuffer(buffer, dtype).reshape(shape, order=order)
        if (module, name) == ("_codecs", "encode"):
            return lambda text, encoding: _latin_bytes(text, encoding)
        raise Forbidden(f"it names {module}.{name}")


def _latin_bytes(text: Any, encoding: Any) -> bytes:
    if encoding != "latin1" or not isinstance(text, str):
        raise Forbidden("it asks for a codec other than latin1")
    return text.encode("latin1")


def _allowed() -> dict[tuple[str, str], Any]:
    from numpy._core import multiarray

    return {
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
        ("numpy._core.multiarray", "_reconstruct"): multiarray._reconstruct,
        ("numpy._core.multiarray", "scalar"): multiarray.scalar,
        ("collections", "OrderedDict"): collections.OrderedDict,
        ("builtins", "set"): set,
        ("builtins", "frozenset"): frozenset,
        ("builtins", "bytearray"): bytearray,
        ("builtins", "complex"): complex,
        ("builtins", "slice"): slice,
    }


_ALLOWED = _allowed()


def read_pickle(path: Path) -> Any:
    """A pickle of arrays and plain containers. Raises InputError for any other."""
    return read_restricted(path, RestrictedUnpickler, "arrays and plain containers")


def read_torch_archive(path: Path) -> Any:
    """What `torch.save` wrote, where that is arrays and plain containers and no tensor; without torch. Raises
    InputError for anything else."""
    expected = "arrays and plain containers, saved by torch"
    try:
        with zipfile.ZipFile(path) as archive:
            pickles = [name for name in archive.namelist() if name.rpartition("/")[2] == "data.pkl"]
            if len(pickles) != 1:
                raise InputError(f"{path} holds {len(pickles)} pickles; expected one: {expected}")
            return RestrictedUnpickler(io.BytesIO(archive.read(pickles[0]))).load()
    except InputError:
        raise
    except Forbidden as error:
        raise InputError(f"{path} is not read: {error}, which could run code. Expected {expected}") from None
    except Exception as error:
        raise InputError(f"{path} cannot be read as {expected}: {error!r}") from None


def read_restricted(path: Path, unpickler: type[pickle.Unpickler], expected: str) -> Any:
    """What the unpickler makes of a file. Raises InputError, with what was `expected`, where it refuses or fails."""
    try:
        with path.open("rb") as file:
            return unpickler(file).load()
    except Forbidden as error:
        raise InputError(
            f"{path} is not read: {error}, which could run code. Expected {expected}; save the numbers as .npz or .json"
        ) from None
    except Exception as error:
        raise InputError(f"{path} cannot be read as a pickle of {expected}: {error!r}") from None
