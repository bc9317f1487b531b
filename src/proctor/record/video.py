"""Writing mp4 files, frame by frame, in bounded memory. Needs the extra `video` (PyAV, which carries its own
encoder)."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import optional
from proctor.record.files import begin


def require_video() -> Any:
    """PyAV, or an error that says how to install it."""
    return optional("av", "writing video", "video")


class VideoWriter:
    """One mp4. Frames are uint8 (height, width, 3); odd sizes are cropped by a pixel. `close` gives the file its name,
    `discard` leaves nothing."""

    def __init__(self, path: Path, fps: float):
        self.path, self._temporary = path, path.with_name(path.name + ".tmp")
        self._fps = Fraction(fps).limit_denominator(1000)
        self._container: Any = None
        self._stream: Any = None

    def add(self, frame: np.ndarray) -> None:
        av = require_video()
        if self._container is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            begin(self._temporary)
            self._container = av.open(str(self._temporary), mode="w", format="mp4")
            self._stream = self._container.add_stream("libx264", rate=self._fps)
            self._stream.height, self._stream.width = frame.shape[0] // 2 * 2, frame.shape[1] // 2 * 2
            self._stream.pix_fmt = "yuv420p"
            self._stream.options = {"crf": "23", "preset": "veryfast"}
        even = np.ascontiguousarray(frame[: self._stream.height, : self._stream.width])
        for packet in self._stream.encode(av.VideoFrame.from_ndarray(even, format="rgb24")):
            self._container.mux(packet)

    def close(self) -> bool:
        """Finish the file. False if there was no frame."""
        if self._container is None:
            return False
        for packet in self._stream.encode():
            self._container.mux(packet)
        self._container.close()
        self._container = None
        os.replace(self._temporary, self.path)
        return True

    def discard(self) -> None:
        if self._container is not None:
            self._container.close()
            self._container = None
        self._temporary.unlink(missing_ok=True)
