"""Numbers as scalars of a TensorBoard event file, the config and the final table as texts, videos as moving pictures.
Needs `tensorboard`, not torch."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from proctor.errors import optional
from proctor.runs.loggers.base import Logger, LoggerOptions
from proctor.runs.loggers.evidence import EvidenceOptions, chosen_videos, markdown, markdown_rows

FRAMES, FRAMES_PER_S = 60, 10
"""Of a moving picture."""


class TensorboardOptions(EvidenceOptions):
    """`folder` starts from the run folder; `./tb` starts from the config's folder."""

    folder: str = "tensorboard"


class TensorboardLogger(Logger):
    """Scalars of TensorBoard.

    One event file in `folder`. Every `log` is on disk when it returns."""

    Options: ClassVar[type[LoggerOptions]] = TensorboardOptions

    def __init__(self, folder: str | Path):
        def part(module: str) -> Any:
            return optional(f"tensorboard.{module}", "TensorboardLogger", "tensorboard")

        self._event, self._summary = part("compat.proto.event_pb2"), part("compat.proto.summary_pb2")
        self._tensor = part("compat.proto.tensor_pb2")
        self._writer = part("summary.writer.event_file_writer").EventFileWriter(str(folder))
        self._step = 0
        self._evidence: tuple[TensorboardOptions, Path] | None = None

    @classmethod
    def for_run(cls, options: TensorboardOptions, folder: Path) -> Self:
        logger = cls(folder / options.folder)
        logger._evidence = (options, folder)
        return logger

    def begin(self, config: Mapping[str, Any]) -> None:
        shown = json.dumps(dict(config), indent=2)
        self._write([self._text("config", "\n".join(f"    {line}" for line in shown.splitlines()))])

    def log(self, values: Mapping[str, float], step: int) -> None:
        self._step = step
        self._write([self._summary.Summary.Value(tag=key, simple_value=float(v)) for key, v in values.items()])

    def log_rows(self, name: str, rows: Sequence[Mapping[str, Any]], step: int) -> None:
        """As a text, which TensorBoard shows as a table."""
        self._step = step
        self._write([self._text(name, markdown_rows(rows))])

    def end(self, report: Mapping[str, Any]) -> None:
        self._write([self._text("report/table", markdown(report))])
        if self._evidence is None:
            return
        options, folder = self._evidence
        told = folder / "report.md"
        if options.report and told.is_file():
            self._write([self._text("report", told.read_text(encoding="utf-8"))])
        for name, path in chosen_videos(folder, options.videos):
            data, height, width = _moving_picture(path)
            image = self._summary.Summary.Image(height=height, width=width, colorspace=3, encoded_image_string=data)
            self._write([self._summary.Summary.Value(tag=f"videos/{name}", image=image)])

    def close(self) -> None:
        self._writer.close()

    def _text(self, tag: str, text: str) -> Any:
        """A text of the plug-in that shows Markdown."""
        plugin = self._summary.SummaryMetadata.PluginData(plugin_name="text")
        tensor = self._tensor.TensorProto(dtype="DT_STRING", string_val=[text.encode()])
        return self._summary.Summary.Value(
            tag=tag, metadata=self._summary.SummaryMetadata(plugin_data=plugin), tensor=tensor
        )

    def _write(self, values: list[Any]) -> None:
        summary = self._summary.Summary(value=values)
        self._writer.add_event(self._event.Event(wall_time=time.time(), step=self._step, summary=summary))
        self._writer.flush()


def _moving_picture(video: Path) -> tuple[bytes, int, int]:
    """A GIF of a video, in at most FRAMES of its frames and half its size; its height and width."""
    imageio = optional("imageio.v3", "a video in TensorBoard", "video")
    frames = imageio.imread(video, plugin="pyav")
    frames = frames[:: -(-len(frames) // FRAMES), ::2, ::2]
    data = imageio.imwrite("<bytes>", frames, extension=".gif", duration=1000 / FRAMES_PER_S, loop=0)
    return data, frames.shape[1], frames.shape[2]
