"""The `gymnasium` suite."""

from __future__ import annotations

from typing import ClassVar

from proctor.suites.gymnasium.options import GymnasiumOptions
from proctor.suites.protocol import Suite, SuiteOptions


class GymnasiumSuite(Suite):
    """Any registered Gymnasium environment."""

    name: ClassVar[str] = "gymnasium"
    Options: ClassVar[type[SuiteOptions]] = GymnasiumOptions
    environment: ClassVar[str | None] = "proctor.suites.gymnasium.environment:make"
    runtime: ClassVar[str | None] = "gymnasium"

    def task_name(self, options: GymnasiumOptions) -> str:
        """The id without its module, `/` made a dash."""
        return options.id.rpartition(":")[2].replace("/", "-")

    def is_batch(self, options: GymnasiumOptions) -> bool:
        return options.vector is not None

    def defines_success(self, options: GymnasiumOptions) -> bool:
        """Where the config says what success is. That an environment reports success by itself is not known before it
        runs."""
        return options.success is not None
