"""The `mjlab` suite."""

from __future__ import annotations

from typing import Any, ClassVar

from proctor.suites.mjlab.options import MjlabOptions
from proctor.suites.protocol import Suite, SuiteOptions


class MjlabSuite(Suite):
    """Tasks of mjlab: robots that walk, lift and follow, on MuJoCo Warp."""

    name: ClassVar[str] = "mjlab"
    Options: ClassVar[type[SuiteOptions]] = MjlabOptions
    runtime: ClassVar[str | None] = "mjlab"
    environment: ClassVar[str | None] = "proctor.suites.mjlab.environment:make"
    install: ClassVar[str | None] = "proctor runtimes install mjlab"

    def task_name(self, options: MjlabOptions) -> str:
        """The id, such as `Mjlab-Velocity-Flat-Unitree-Go1`."""
        return options.task

    def is_batch(self, options: MjlabOptions) -> bool:
        return options.batch

    def task_defaults(self, options: MjlabOptions) -> dict[str, Any]:
        """A goal that a command sets is reached once it was reached, as mjlab counts it."""
        return {"success_rule": "ever"} if options.success == "command" else {}

    def defines_success(self, options: MjlabOptions) -> bool:
        return options.success is not None

    def needs(self) -> list[tuple[str, str]]:
        return [("mjlab", "mjlab")]
