"""The `steve` suite."""

from __future__ import annotations

from typing import ClassVar

from proctor.errors import InputError
from proctor.suites.endovascular.suite import ArchSuite
from proctor.suites.protocol import Env, SuiteOptions
from proctor.suites.steve.build import HOW, import_eve
from proctor.suites.steve.options import SteveOptions


class SteveSuite(ArchSuite):
    """A guidewire in an aortic arch, on SOFA through stEVE."""

    name: ClassVar[str] = "steve"
    Options: ClassVar[type[SuiteOptions]] = SteveOptions
    runtime: ClassVar[str | None] = "steve"
    reusable: ClassVar[bool] = False
    """SOFA's reset leaves traces (solver warm starts, the state of contact): each trial gets a scene of its own."""

    install: ClassVar[str | None] = HOW

    def make(self, options: SteveOptions, *, render: bool, worlds: int) -> Env:
        if render:
            raise InputError("the steve suite draws no frames; use record: series, or simulator: embedded for videos")
        from proctor.suites.steve.env import SteveEnv

        return SteveEnv(import_eve(), options)

    def needs(self) -> list[tuple[str, str]]:
        return [("eve", "steve"), ("Sofa", "steve")]
