"""Numbers as scalars of a TensorBoard event file. Needs `tensorboard`, not torch."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from proctor.errors import MissingExtra
from proctor.runs.loggers.base import Logger, LoggerOptions


class TensorboardOptions(LoggerOptions):
    """`folder` starts from the run folder; `./tb` starts from the config's folder."""

    folder: str = "tensorboard"


class TensorboardLogger(Logger):
    """Scalars of TensorBoard.

    One event file in `folder`. Every `log` is on disk when it returns."""

    Options: ClassVar[type[LoggerOptions]] = TensorboardOptions

    def __init__(self, folder: str | Path):
        try:
            from tensorboard.compat.proto import event_pb2, summary_pb2
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ModuleNotFoundError:
            raise MissingExtra("TensorboardLogger", "tensorboard", "tensorboard") from None
        self._event: Any = event_pb2
        self._summary: Any = summary_pb2
        self._writer: Any = EventFileWriter(str(folder))

    @classmethod
    def for_run(cls, options: TensorboardOptions, folder: Path) -> Self:
        return cls(folder / options.folder)

    def log(self, values: Mapping[str, float], step: int) -> None:
        scalars = [self._summary.Summary.Value(tag=key, simple_value=float(value)) for key, value in values.items()]
        summary = self._summary.Summary(value=scalars)
        self._writer.add_event(self._event.Event(wall_time=time.time(), step=step, summary=summary))
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()
