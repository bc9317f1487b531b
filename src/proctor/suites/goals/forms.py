"""A config with the section `goals`, given to a verb that examines agents."""

from __future__ import annotations

from typing import Any, ClassVar

from proctor.config.forms import ConfigForm
from proctor.config.problems import Problems


class GoalsSection(ConfigForm):
    """The section `goals` beside agents and tasks: not an examination, and said so."""

    name: ClassVar[str] = "goals"

    def recognises(self, data: dict[str, Any]) -> bool:
        return "goals" in data

    def translate(self, data: dict[str, Any], problems: Problems) -> dict[str, Any]:
        """The examination that is left."""
        meant = "a config with this section is for `proctor goals collect` and `proctor goals evaluate`"
        problems.add(("goals",), "unknown key; an examination has no section of this name", meant)
        return {key: value for key, value in data.items() if key != "goals"}
