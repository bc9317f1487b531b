"""The `crafter` suite."""

from __future__ import annotations

from typing import Any, ClassVar

from proctor.suites.crafter.options import CrafterOptions
from proctor.suites.crafter.tasks import INSTRUCTIONS
from proctor.suites.protocol import Suite, SuiteOptions


class CrafterSuite(Suite):
    """An instruction to follow in Crafter's open world."""

    name: ClassVar[str] = "crafter"
    seeds_matter: ClassVar[bool] = True
    Options: ClassVar[type[SuiteOptions]] = CrafterOptions
    environment: ClassVar[str | None] = "proctor.suites.crafter.env:make"
    runtime: ClassVar[str | None] = "crafter"

    def task_name(self, options: CrafterOptions) -> str:
        """Such as `collect_wood`."""
        return options.task

    def begins_by_seed(self, options: CrafterOptions) -> bool:
        return True

    def briefing(self, options: CrafterOptions) -> dict[str, Any]:
        """`instruction`: what the agent is told; `paraphrases`: all five ways to say it."""
        return {"instruction": options.told, "paraphrases": list(INSTRUCTIONS[options.task])}

    def needs(self) -> list[tuple[str, str]]:
        return [("crafter", "crafter")]
