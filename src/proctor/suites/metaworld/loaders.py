"""The scripted agents of this suite, under short names."""

from __future__ import annotations

from typing import ClassVar

from proctor.policies.from_python import ScriptedLoader


class MetaworldExpertLoader(ScriptedLoader):
    """A task of Meta-World: its scripted expert, chosen by task."""

    name: ClassVar[str] = "metaworld/expert"
    target: ClassVar[str] = "proctor.suites.metaworld.agents:Expert"
