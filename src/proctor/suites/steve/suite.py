"""The `steve` suite."""

from __future__ import annotations

from typing import ClassVar

from proctor.suites.endovascular.suite import ArchSuite
from proctor.suites.protocol import SuiteOptions
from proctor.suites.steve.build import HOW
from proctor.suites.steve.options import SteveOptions


class SteveSuite(ArchSuite):
    """A guidewire in an aortic arch, on SOFA through stEVE."""

    name: ClassVar[str] = "steve"
    Options: ClassVar[type[SuiteOptions]] = SteveOptions
    environment: ClassVar[str | None] = "proctor.suites.steve.env:make"
    runtime: ClassVar[str | None] = "steve"
    reusable: ClassVar[bool] = False
    """SOFA's reset leaves traces (solver warm starts, the state of contact): each trial gets a scene of its own."""

    install: ClassVar[str | None] = HOW

    def needs(self) -> list[tuple[str, str]]:
        return [("eve", "steve"), ("Sofa", "steve")]
