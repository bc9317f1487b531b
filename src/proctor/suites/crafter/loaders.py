"""The scripted agents of this suite, under short names."""

from __future__ import annotations

from typing import ClassVar

from proctor.policies.from_python import ScriptedLoader


class CrafterExpertLoader(ScriptedLoader):
    """A task of Crafter: does what its name asks for, by the shortest way."""

    name: ClassVar[str] = "crafter/expert"
    target: ClassVar[str] = "proctor.suites.crafter.agents:Expert"
