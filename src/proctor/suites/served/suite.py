"""The `served` suite."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import ConfigDict

from proctor.errors import InputError
from proctor.suites.protocol import Suite, SuiteOptions


class ServedOptions(SuiteOptions):
    """Whatever the served environment takes: its `make` gets these keys as they are."""

    model_config = ConfigDict(frozen=True, extra="allow")


class ServedSuite(Suite):
    """Whatever is served at the task's address."""

    name: ClassVar[str] = "served"
    Options: ClassVar[type[SuiteOptions]] = ServedOptions

    def task_name(self, options: Any) -> str:
        return "served"

    def make(self, options: Any, *, render: bool, worlds: int) -> Any:
        raise InputError(
            "environments of the suite served live where they are served; write runtime: "
            '{address: "HOST:PORT", token_file: FILE} (docs/runtimes.md)'
        )
