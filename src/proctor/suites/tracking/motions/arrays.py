"""Arrays of an `.npz`, as data only."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays by name; nothing is unpickled. Raises OSError where the file cannot be had and ValueError where it is
    no whole `.npz` of plain arrays."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {name.removesuffix(".npy"): _member(archive, name) for name in archive.namelist()}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ValueError(f"not a whole npz file: {error}") from None


def _member(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(name) as file:
        return np.lib.format.read_array(file, allow_pickle=False)
