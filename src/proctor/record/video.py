"""Writing mp4 files, frame by frame, in bounded memory. Needs the extra `video` (PyAV, which carries its own
encoder)."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import optional
from proctor.record.files import begin, write_synced

SAME_BYTES = {"x264-params": "mbtree=0"}
"""Without this, x264 gives other bytes for the same frames now and then, even with one thread."""
POSTER_QUALITY = "5"
"""Of a JPEG, as its encoder counts: 2 is the best, 31 the smallest."""


def require_video() -> Any:
    """PyAV, or an error that says how to install it."""
    return optional("av", "writing video", "video")


def poster_of(video: Path) -> Path:
    """Where the still picture of a video lies: beside it."""
    return video.with_suffix(".jpg")


class VideoWriter:
    """One mp4. Frames are uint8 (height, width, 3); odd sizes are cropped by a pixel. `close` gives the file its name,
    `discard` leaves nothing. `poster`: its last frame, which shows how it ended, is kept as a JPEG beside it, for pages
    that show a video before it is played."""

    def __init__(self, path: Path, fps: float, *, poster: bool = False):
        self.path, self._temporary = path, path.with_name(path.name + ".tmp")
        self._fps = Fraction(fps).limit_denominator(1000)
        self._poster, self._last = poster, np.empty((0, 0, 3), np.uint8)
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
            self._stream.options = {"crf": "23", "preset": "veryfast", **SAME_BYTES}
            self._stream.codec_context.thread_count = 1
        even = np.ascontiguousarray(frame[: self._stream.height, : self._stream.width])
        for packet in self._stream.encode(av.VideoFrame.from_ndarray(even, format="rgb24")):
            self._container.mux(packet)
        self._last = even

    def close(self) -> bool:
        """Finish the file. False if there was no frame."""
        if self._container is None:
            return False
        for packet in self._stream.encode():
            self._container.mux(packet)
        self._container.close()
        self._container = None
        if self._poster:
            write_synced(poster_of(self.path), jpeg(self._last))
        os.replace(self._temporary, self.path)
        return True

    def discard(self) -> None:
        if self._container is not None:
            self._container.close()
            self._container = None
        self._temporary.unlink(missing_ok=True)
        if self._poster:
            poster_of(self.path).unlink(missing_ok=True)


def jpeg(picture: np.ndarray) -> bytes:
    """The bytes of a JPEG file of uint8 (height, width, 3); equal pictures give equal bytes."""
    av = require_video()
    encoder = av.CodecContext.create("mjpeg", "w")
    encoder.height, encoder.width = picture.shape[:2]
    encoder.pix_fmt, encoder.time_base, encoder.thread_count = "yuvj420p", Fraction(1, 1), 1
    encoder.options = {"qmin": POSTER_QUALITY, "qmax": POSTER_QUALITY}
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
    return b"".join(bytes(packet) for given in (frame, None) for packet in encoder.encode(given))
