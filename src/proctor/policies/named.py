"""Agents of suites under short names: `tracking/mirror` for an import string that nobody wants to remember."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from proctor.policies.from_python import PythonLoader
from proctor.policies.options import PythonOptions


def _named(short: str, meant: str, doc: str) -> type[PythonLoader]:
    """The `python` loader with its target decided."""

    class Options(PythonOptions):
        target: str = Field(default=meant, pattern=f"^{meant}$")

    class Named(PythonLoader):
        name: ClassVar[str] = short

    Named.Options, Named.__doc__, Options.__doc__ = Options, doc, f"`{short}`."
    return Named


MirrorLoader = _named(
    "tracking/mirror",
    "proctor.suites.tracking.agents:Mirror",
    "A tracking task: the joints of the next reference frame as targets.",
)
HoldLoader = _named(
    "tracking/hold",
    "proctor.suites.tracking.agents:Hold",
    "A tracking task: the default pose, or the first frame of the motion, all the time.",
)
PushOnlyLoader = _named(
    "endovascular/push_only",
    "proctor.suites.endovascular.agents:PushOnly",
    "A wire in a vessel: pushes and never turns.",
)
NavigatorLoader = _named(
    "endovascular/navigator",
    "proctor.suites.endovascular.agents:Navigator",
    "A wire in a vessel: turns the tip towards the next centreline point, backs off when stuck.",
)
MetaworldExpertLoader = _named(
    "metaworld/expert",
    "proctor.suites.metaworld.agents:Expert",
    "A task of Meta-World: its scripted expert, chosen by task.",
)
StandLoader = _named(
    "soccer/stand",
    "proctor.suites.soccer.agents:Stand",
    "A soccer task: stays on its feet, and does nothing else.",
)
CrafterExpertLoader = _named(
    "crafter/expert",
    "proctor.suites.crafter.agents:Expert",
    "A task of Crafter: does what its name asks for, by the shortest way.",
)
