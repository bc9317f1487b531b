"""The scripted agents of this suite, under short names."""

from __future__ import annotations

from typing import ClassVar

from proctor.policies.from_python import ScriptedLoader


class StandLoader(ScriptedLoader):
    """A soccer task: stays on its feet, and does nothing else."""

    name: ClassVar[str] = "soccer/stand"
    target: ClassVar[str] = "proctor.suites.soccer.agents:Stand"
