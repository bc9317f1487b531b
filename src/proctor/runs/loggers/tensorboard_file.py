"""Numbers as scalars of a TensorBoard event file. Needs `tensorboard`, not torch."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from proctor.errors import optional
from proctor.runs.loggers.base import Logger, LoggerOptions


class TensorboardOptions(LoggerOptions):
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
        self._writer = part("summary.writer.event_file_writer").EventFileWriter(str(folder))

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
