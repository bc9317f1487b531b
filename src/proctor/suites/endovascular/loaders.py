"""The scripted agents of this suite, under short names."""

from __future__ import annotations

from typing import ClassVar

from proctor.policies.from_python import ScriptedLoader


class PushOnlyLoader(ScriptedLoader):
    """A wire in a vessel: pushes and never turns."""

    name: ClassVar[str] = "endovascular/push_only"
    target: ClassVar[str] = "proctor.suites.endovascular.agents:PushOnly"


class NavigatorLoader(ScriptedLoader):
    """A wire in a vessel: turns the tip towards the next centreline point, backs off when stuck."""

    name: ClassVar[str] = "endovascular/navigator"
    target: ClassVar[str] = "proctor.suites.endovascular.agents:Navigator"
