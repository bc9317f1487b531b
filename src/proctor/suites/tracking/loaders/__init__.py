"""The scripted agents of this suite, under short names."""

from __future__ import annotations

from typing import ClassVar

from proctor.policies.from_python import ScriptedLoader


class MirrorLoader(ScriptedLoader):
    """A tracking task: the joints of the next reference frame as targets."""

    name: ClassVar[str] = "tracking/mirror"
    target: ClassVar[str] = "proctor.suites.tracking.agents:Mirror"


class HoldLoader(ScriptedLoader):
    """A tracking task: the default pose, or the first frame of the motion, all the time."""

    name: ClassVar[str] = "tracking/hold"
    target: ClassVar[str] = "proctor.suites.tracking.agents:Hold"
