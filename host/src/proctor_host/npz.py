"""Writing a trial's arrays.

The files are ordinary `.npz`. The writer is deterministic (fixed dates, fixed order) and atomic: it writes to a
temporary name, syncs and renames, so a file that has its name is complete. Arrays of 16 KiB and more are deflated.
"""

from __future__ import annotations

import functools
import io
import struct
import zlib
from pathlib import Path
from typing import Any, Mapping

import numpy as np

from proctor_host.files import write_synced

MOST_ARRAYS = 4 * 1024**3
"""Bytes that the arrays of one `.npz` take."""
_DEFLATE_FROM = 16 * 1024
_DATE = 0x0021  # 1980-01-01
_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_CENTRAL = struct.Struct("<4sHHHHHHIIIHHHHHII")
_END = struct.Struct("<4sHHHHIIH")


def write_npz(path: Path, arrays: Mapping[str, np.ndarray]) -> tuple[int, int]:
    """Write the arrays, in order of their names: the file's bytes and their CRC-32. After the return the file survives
    a crash of the machine."""
    data = pack_npz(arrays)
    write_synced(path, data)
    return len(data), zlib.crc32(data)


def pack_npz(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of an `.npz` with these arrays."""
    parts: list[bytes] = []
    directory: list[bytes] = []
    offset = unpacked = 0
    for name in sorted(arrays):
        data = _npy(arrays[name])
        if len(data) >= 2**31:
            raise ValueError(f'array "{name}" of {len(data)} bytes is too large for one record; record less of it')
        method, body = (8, _deflate(data)) if len(data) >= _DEFLATE_FROM and _shrinks(data) else (0, data)
        filename = f"{name}.npy".encode()
        fields = (20, 0x800, method, 0, _DATE, zlib.crc32(data), len(body), len(data), len(filename), 0)
        parts += [_LOCAL.pack(b"PK\x03\x04", *fields), filename, body]
        directory += [_CENTRAL.pack(b"PK\x01\x02", 20, *fields, 0, 0, 0, 0, offset), filename]
        offset += _LOCAL.size + len(filename) + len(body)
        unpacked += len(data)
        if offset >= 2**32 - 2**20 or unpacked > MOST_ARRAYS:
            raise ValueError(f"the record of one trial exceeds 4 GiB (at array {name!r}); record less of it")
    central = b"".join(directory)
    end = _END.pack(b"PK\x05\x06", 0, 0, len(arrays), len(arrays), len(central), offset, 0)
    return b"".join([*parts, central, end])


def _npy(array: np.ndarray) -> bytes:
    if array.dtype.hasobject:
        raise ValueError(f"an array of dtype {array.dtype} cannot be recorded; record numbers")
    array = np.asarray(array, order="C")
    return _npy_header(array.dtype, array.shape) + array.tobytes()


@functools.lru_cache(maxsize=1024)
def _npy_header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Of an array in C order. It is kept: the records of a run are much alike."""
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue()


def _shrinks(data: bytes) -> bool:
    """Whether compression is worth its time, judged by a sample from the middle: noisy floating point numbers are not,
    pictures and zeros are."""
    sample = data[len(data) // 2 :][:4096]
    return len(zlib.compress(sample, 1)) < 0.85 * len(sample)


def _deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()
