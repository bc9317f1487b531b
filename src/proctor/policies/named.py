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


class PushOnlyOptions(PythonOptions):
    """`endovascular/push_only`. `kwargs: {speed: 0.6}` is its share of full speed."""

    target: Literal["proctor.suites.endovascular.agents:PushOnly"] = "proctor.suites.endovascular.agents:PushOnly"  # pyright: ignore[reportIncompatibleVariableOverride]


class PushOnlyLoader(PythonLoader):
    """A wire in a vessel: pushes and never turns."""

    name: ClassVar[str] = "endovascular/push_only"
    Options: ClassVar[type[PolicyOptions]] = PushOnlyOptions


class NavigatorOptions(PythonOptions):
    """`endovascular/navigator`. `kwargs: {speed: 0.8}` is its share of full speed."""

    target: Literal["proctor.suites.endovascular.agents:Navigator"] = "proctor.suites.endovascular.agents:Navigator"  # pyright: ignore[reportIncompatibleVariableOverride]


class NavigatorLoader(PythonLoader):
    """A wire in a vessel: turns the tip towards the next centreline point, backs off when stuck."""

    name: ClassVar[str] = "endovascular/navigator"
    Options: ClassVar[type[PolicyOptions]] = NavigatorOptions
