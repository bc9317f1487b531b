"""Reading pickles as data.

A pickle is a program for a small machine that may name any callable and have it called. The machine here is our own:
it knows the opcodes that arrays and plain containers need, refuses every name that is not theirs, and makes arrays of
a type, a shape and bytes that it has checked. Nothing is imported, nothing of numpy's own reconstruction is called
(which believes what a file says of its memory), and a file cannot make it use more than a multiple of the file's size.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

from proctor.errors import InputError
from proctor.unpickle.calls import Inert
from proctor.unpickle.limits import Forbidden
from proctor.unpickle.machine import Machine

__all__ = ["Inert", "read_pickle", "read_torch_archive"]

LARGEST = 2**31
"""Bytes of the largest pickle that is read."""

_COMPRESSED = {
    b"x": "zlib", b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"]\x00\x00": "lzma", b"\x04\"M": "lz4",
}  # fmt: skip
"""How the files of compressors begin; no pickle of data begins like these."""
_LFS = b"version https://git-lfs"


def read_pickle(path: Path, expected: str = "arrays and plain containers", inert: tuple[str, ...] = ()) -> object:
    """What a pickle of arrays and plain containers holds, as pickle or joblib (uncompressed) wrote it. Objects of the
    packages `inert` become `Inert`, which keeps their state as data. Raises InputError, which says what was `expected`,
    for any other file."""
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path} is not read: it is larger than {LARGEST} bytes. Save the numbers as .npz")
        data = path.read_bytes()
        if kind := next((kind for magic, kind in _COMPRESSED.items() if data.startswith(magic)), None):
            raise InputError(
                f"{path} is not read: it is compressed ({kind}). Save it again: joblib.dump(value, path, compress=0)"
            )
        if data.startswith(_LFS):
            raise InputError(f"{path} is a pointer of Git LFS, not the file; fetch the file: git lfs pull")
        return Machine(data, inert).run()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    except Forbidden as error:
        raise InputError(
            f"{path} is not read: {error}. Expected {expected}; save the numbers as .npz or .json"
        ) from None
    except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read as a pickle of {expected}: it is damaged, or holds something else ({error})"
        ) from None


def read_torch_archive(path: Path) -> object:
    """What `torch.save` wrote, where that is arrays and plain containers and no tensor; without torch. Raises
    InputError for anything else."""
    expected = "arrays and plain containers, saved by torch"
    try:
        with zipfile.ZipFile(path) as archive:
            pickles = [entry for entry in archive.infolist() if entry.filename.rpartition("/")[2] == "data.pkl"]
            if len(pickles) != 1:
                raise InputError(f"{path} holds {len(pickles)} pickles; expected one: {expected}")
            with archive.open(pickles[0]) as file:
                data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise InputError(f"{path} is not read: its pickle is larger than {LARGEST} bytes")
        return Machine(data).run()
    except Forbidden as error:
        raise InputError(f"{path} is not read: {error}. Expected {expected}") from None
    except (
        ArithmeticError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError, zipfile.BadZipFile,
        zlib.error, EOFError,
    ) as error:  # fmt: skip
        raise InputError(
            f"{path} cannot be read as {expected}: it is damaged, or holds something else ({error})"
        ) from None
