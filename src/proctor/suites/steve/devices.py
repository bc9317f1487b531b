"""Tools as stEVE devices.

A tool of the endovascular suite becomes the J-shaped (or straight) device with its length, diameter, bend and, from
bending stiffness EI and torsional stiffness GJ, Young's modulus 4 EI / (pi r^4) and Poisson's ratio EI / GJ - 1.
stEVE's device has one stiffness in the bent tip and one behind it, so a taper is lost, and a straight end beyond the
curve. Masses are stEVE's.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from proctor.errors import InputError
from proctor.registry import import_object
from proctor.suites.endovascular.wires import DEFAULTS, WIRES

STANDARD_J = "standard_j"
"""stEVE's own guidewire, with the values of its class."""
SIMMONS = "simmons"
"""stEVE's catheter of three bends."""
STRAIGHT_TIP_MM = 15.0
NAME = "guidewire"


def check_tool(tool: str | dict[str, Any]) -> None:
    """Raise InputError for a tool that is known to be none. Import strings are looked up when they are used."""
    from proctor.suites.endovascular.tools import find_tool

    if isinstance(tool, dict):
        _check_described(tool)
    elif ":" not in tool and tool != STANDARD_J:
        try:
            find_tool(tool)
        except InputError as error:
            raise InputError(f'{error}; "{STANDARD_J}"; or an import string to a stEVE device') from None


def make_device(eve: Any, tool: str | dict[str, Any], velocity_limit: tuple[float, float]) -> Any:
    """The stEVE device of a tool. `eve` is stEVE's package; an import string names a device, or what gives one when
    called. The velocity limit (mm/s, rad/s) is the task's: it decides what an action means."""
    devices = eve.intervention.device
    if isinstance(tool, str) and ":" in tool:
        device = _imported(eve, tool)
    elif tool == STANDARD_J:
        device = devices.JShaped(name=NAME)
    elif tool == SIMMONS:
        device = devices.Simmons3Bends()
    else:
        wire = WIRES[tool] if isinstance(tool, str) else tool
        device = _from_tool(devices, SimpleNamespace(**{**DEFAULTS, **wire}))
    device.velocity_limit = velocity_limit
    return device


def _imported(eve: Any, target: str) -> Any:
    found = import_object(target)
    device = found if isinstance(found, eve.intervention.device.Device) else found()
    if not isinstance(device, eve.intervention.device.Device):
        raise InputError(
            f'the tool "{target}" gave a {type(device).__name__}; expected an eve.intervention.device.Device'
        )
    return device


def _check_described(tool: dict[str, Any]) -> None:
    from pydantic import ValidationError

    from proctor.suites.endovascular.tools import Tool

    try:
        Tool.model_validate(tool)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"the tool's {where}: {first['msg'].lower()}" if where else first["msg"]) from None


def _from_tool(devices: Any, tool: SimpleNamespace) -> Any:
    inertia = math.pi / 4 * tool.radius_mm**4
    common: dict[str, Any] = {
        "name": NAME,
        "length": tool.length_mm,
        "tip_outer_diameter": 2 * tool.radius_mm,
        "straight_outer_diameter": 2 * tool.radius_mm,
        "poisson_ratio": min(max(tool.shaft_bending / tool.shaft_torsion - 1, 0.0), 0.49),
        "young_modulus_tip": tool.tip_bending / inertia,
        "young_modulus_straight": tool.shaft_bending / inertia,
    }
    if tool.curve_radius_mm is None or tool.curve_length_mm == 0:
        return devices.Straight(tip_length=max(tool.tip_length_mm, STRAIGHT_TIP_MM), **common)
    bend = tool.curve_length_mm / tool.curve_radius_mm
    return devices.JShaped(tip_radius=tool.curve_radius_mm, tip_angle=bend, **common)
