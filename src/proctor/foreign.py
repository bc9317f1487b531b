"""Files from somebody else: read within bounds, and a damaged one is an error that says so.

How much a zip unpacks to is known before anything is unpacked. One that is a thousand times larger inside is a few
megabytes on disk. The sizes that its directory declares can be relied on: `zipfile` never gives more of a member than
was declared.
"""

from __future__ import annotations

import json
import math
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from proctor_host.npz import MOST_ARRAYS

MOST_TEXT = 64 * 1024**2
"""Bytes of JSON, in a file of its own or in the zip of an SB3 model."""
_PACKED_WEIGHTS = 20
"""Times that weights may be packed; numbers of a network hardly shrink, and torch does not pack them."""


def read_npz(path: Path | IO[bytes], wanted: Callable[[str], bool] | None = None) -> dict[str, np.ndarray]:
    """The arrays of an `.npz` by name, the wanted ones only where `wanted` is given; nothing is unpickled. Raises
    OSError where the file cannot be had, ValueError where it is no whole `.npz` of plain arrays, or too large a one."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            chosen = {name: info for name, info in members.items() if wanted is None or wanted(name)}
            _check(sum(info.file_size for info in chosen.values()), MOST_ARRAYS)
            return {name: _array(archive, info) for name, info in chosen.items()}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ValueError(f"not a whole npz file: {error}") from None
    except MemoryError:
        raise ValueError("its arrays do not fit into the memory of this machine") from None


def read_json(path: Path) -> Any:
    """What a JSON file says. Raises OSError where the file cannot be had, ValueError where it is no JSON, too large or
    nested too deep."""
    with path.open("rb") as file:
        data = file.read(MOST_TEXT + 1)
    _check(len(data), MOST_TEXT)
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("its values nest too deep") from None


def read_text(archive: zipfile.ZipFile, name: str) -> bytes:
    """A member that is text. Raises KeyError where there is none, ValueError where it is too large."""
    info = archive.getinfo(name)
    _check(info.file_size, MOST_TEXT)
    return archive.read(info)


def check_weights(source: str | Path | IO[bytes]) -> None:
    """Raise ValueError where a zip with weights unpacks to many times what it takes. A file that is no zip is left to
    whoever reads it; an open file comes back at its beginning."""
    if not zipfile.is_zipfile(source):
        return
    with zipfile.ZipFile(source) as archive:
        packed = sum(info.compress_size for info in archive.infolist())
        _check(sum(info.file_size for info in archive.infolist()), max(MOST_TEXT, _PACKED_WEIGHTS * packed))
    if not isinstance(source, (str, Path)):
        source.seek(0)


def _check(size: int, most: int) -> None:
    if size > most:
        raise ValueError(f"it holds {size:,} bytes of data; expected at most {most:,}")


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """One member, which must be as long as its header says: nothing is allocated for the header's word alone."""
    with archive.open(info) as opened:
        file: Any = opened
        shape, fortran, dtype = _header(file)
        count = math.prod(shape)
        if dtype.hasobject:
            raise ValueError(f"{info.filename} holds objects; expected numbers or text")
        if count * dtype.itemsize != info.file_size - file.tell() or count > info.file_size:
            raise ValueError(f"{info.filename} is not as long as its shape {shape} of {dtype} says")
        data = bytearray(count * dtype.itemsize)
        if file.readinto(data) != len(data):
            raise EOFError(f"{info.filename} ends early")
    flat = np.frombuffer(data, dtype) if data else np.empty(count, dtype)
    return flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)


def _header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    return np.lib.format.read_array_header_2_0(file)
