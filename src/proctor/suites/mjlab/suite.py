"""The `mjlab` suite."""

from __future__ import annotations

from typing import Any, ClassVar

from proctor.suites.mjlab.options import MjlabOptions
from proctor.suites.protocol import BatchEnv, Env, Suite, SuiteOptions

RECIPE: dict[str, Any] = {
    "name": "mjlab",
    "python": ">=3.11,<3.14",
    "packages": ("mjlab==1.6.0", "mujoco==3.11.0", "mujoco-warp==3.11.0", "warp-lang==1.19.0", "torch==2.13.0"),
    "imports": ("mjlab", "mujoco_warp", "torch"),
}
"""The interpreter that the suite's worlds live in: its name, which Python, what is installed, and what must then be
importable. mjlab brings the rest."""


class MjlabSuite(Suite):
    """Tasks of mjlab: robots that walk, lift and follow, on MuJoCo Warp."""

    name: ClassVar[str] = "mjlab"
    Options: ClassVar[type[SuiteOptions]] = MjlabOptions
    runtime: ClassVar[str | None] = "mjlab"
    environment: ClassVar[str] = "proctor.suites.mjlab.environment:make"
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

    def make(self, options: MjlabOptions, *, render: bool, worlds: int) -> Env | BatchEnv:
        from proctor.suites.mjlab.environment import make

        return make(options, render=render, worlds=worlds)

    def needs(self) -> list[tuple[str, str]]:
        return [("mjlab", "mjlab")]
