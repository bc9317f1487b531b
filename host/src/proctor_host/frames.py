"""Frames of a trial, kept as they are until somebody encodes them: for interpreters without an encoder.

A file of frames has for each a header (height, width, bytes) and the packed pixels, uint8 (height, width, 3). It is
written under a temporary name, so that one whose writer died is removed by the next session.
"""

from __future__ import annotations

import os
import struct
import tempfile
import zlib
from pathlib import Path
from typing import IO, Any, Iterator

import numpy as np

from proctor_host.files import NEW, refuse_link

SUFFIX = ".frames.tmp"
MOST_BYTES = 1 << 28
"""Of a frame."""
_HEADER = struct.Struct("<IIQ")


class FrameSpool:
    """Frames of one trial, in `videos/` of the run's folder, or in a temporary file where there is no such folder."""

    def __init__(self, folder: Path | None, stem: str, fps: float):
        self.fps = fps
        where = Path(tempfile.mkdtemp(prefix="proctor-host-")) if folder is None else folder / "videos"
        self.path = where / (stem + SUFFIX)
        self._own = folder is None
        self._file: IO[bytes] | None = None

    def add(self, frame: np.ndarray) -> None:
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            refuse_link(self.path.parent)
            if self.path.exists():
                self.path.unlink()
            self._file = os.fdopen(os.open(self.path, NEW, 0o644), "wb")
        pixels = np.ascontiguousarray(frame, np.uint8)
        packed = zlib.compress(pixels.tobytes(), 1)
        self._file.write(_HEADER.pack(pixels.shape[0], pixels.shape[1], len(packed)))
        self._file.write(packed)

    def close(self) -> bool:
        """Finish the file. False if there was no frame."""
        if self._file is None:
            return False
        self._file.close()
        self._file = None
        return True

    def discard(self) -> None:
        """Leave nothing."""
        self.close()
        if self.path.exists():
            self.path.unlink()
        if self._own and self.path.parent.exists():
            self.path.parent.rmdir()


def frames(file: IO[Any]) -> Iterator[np.ndarray]:
    """The frames of a file. Raises ValueError where it is not whole."""
    while True:
        header = file.read(_HEADER.size)
        if not header:
            return
        if len(header) < _HEADER.size:
            raise ValueError("the file of frames ends early")
        height, width, size = _HEADER.unpack(header)
        most = height * width * 3
        if most > MOST_BYTES:
            raise ValueError(f"a frame of {height} x {width} pixels is larger than any that is filmed")
        unpacker = zlib.decompressobj()
        pixels = unpacker.decompress(file.read(min(size, most + 1024)), most + 1)
        if len(pixels) != most:
            raise ValueError("a frame is not as large as its header says")
        yield np.frombuffer(pixels, np.uint8).reshape(height, width, 3)
