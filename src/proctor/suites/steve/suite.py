"""The `steve` suite."""

from __future__ import annotations

from typing import Any, ClassVar

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

    def complete(self, options: Any) -> Any:
        """With the environment of a checkpoint, where one is named."""
        if options.environment_file is None or options.environment is not None:
            return options
        from proctor.suites.endovascular.checkpoints import observation_of
        from proctor.suites.endovascular.loaders import read_environment

        file = str(options.environment_file)
        environment = read_environment(file)
        found = {**observation_of(environment, file), "environment": environment}
        return type(options).model_validate({**options.model_dump(mode="json", exclude_unset=True), **found})

    def needs(self) -> list[tuple[str, str]]:
        return [("eve", "steve"), ("Sofa", "steve")]
