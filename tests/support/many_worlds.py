"""A suite with one world in all six kinds of environment. Workers import this file by its path."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from proctor.suites.protocol import Suite, SuiteOptions


class KindOptions(SuiteOptions):
    kind: Literal["env", "rows", "batch", "columns", "vector", "device"] = "env"
    odd: str = ""
    """FIELD=VALUE of the third step of every world, a Python expression."""


class ManyWorlds(Suite):
    """The same world, however it is made."""

    name: ClassVar[str] = "many"
    Options: ClassVar[type[SuiteOptions]] = KindOptions
    environment: ClassVar[str] = f"{Path(__file__).with_name('same_worlds.py')}:make"

    def task_name(self, options: KindOptions) -> str:
        return "world"

    def is_batch(self, options: KindOptions) -> bool:
        return options.kind not in ("env", "rows")
