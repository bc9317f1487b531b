"""Agents of suites under short names: `tracking/mirror` for an import string that nobody wants to remember."""

from __future__ import annotations

from typing import ClassVar, Literal

from proctor.policies.from_python import PythonLoader
from proctor.policies.options import PolicyOptions, PythonOptions


class MirrorOptions(PythonOptions):
    """`tracking/mirror`."""

    target: Literal["proctor.suites.tracking.agents:Mirror"] = "proctor.suites.tracking.agents:Mirror"  # pyright: ignore[reportIncompatibleVariableOverride]


class MirrorLoader(PythonLoader):
    """A tracking task: the joints of the next reference frame as targets."""

    name: ClassVar[str] = "tracking/mirror"
    Options: ClassVar[type[PolicyOptions]] = MirrorOptions


class HoldOptions(PythonOptions):
    """`tracking/hold`. `kwargs: {pose: first}` holds the first frame of the motion."""

    target: Literal["proctor.suites.tracking.agents:Hold"] = "proctor.suites.tracking.agents:Hold"  # pyright: ignore[reportIncompatibleVariableOverride]


class HoldLoader(PythonLoader):
    """A tracking task: the default pose, or the first frame of the motion, all the time."""

    name: ClassVar[str] = "tracking/hold"
    Options: ClassVar[type[PolicyOptions]] = HoldOptions
