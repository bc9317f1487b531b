"""The logger protocol, a logger in memory, and several loggers as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Logger(Protocol):
    """Takes numbers at a training step. Keys have slashes; a standard deviation ends in `#std`."""

    def log(self, values: Mapping[str, float], step: int) -> None: ...

    def close(self) -> None: ...


class DictLogger:
    """Keeps everything in `history`: step -> values. Logging a step again adds to it; the later value wins."""

    def __init__(self) -> None:
        self.history: dict[int, dict[str, float]] = {}

    def log(self, values: Mapping[str, float], step: int) -> None:
        self.history.setdefault(step, {}).update(values)

    def series(self, key: str) -> dict[int, float]:
        """One key over the steps that have it."""
        return {step: values[key] for step, values in sorted(self.history.items()) if key in values}

    def close(self) -> None:
        """Nothing to let go of."""


class Loggers:
    """Several loggers as one."""

    def __init__(self, *loggers: Logger):
        self.loggers = loggers

    def log(self, values: Mapping[str, float], step: int) -> None:
        for logger in self.loggers:
            logger.log(values, step)

    def close(self) -> None:
        for logger in self.loggers:
            logger.close()
