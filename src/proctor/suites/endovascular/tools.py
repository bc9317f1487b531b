"""Wires as data. Stiffness is given as bending stiffness EI and torsional stiffness GJ in N mm^2."""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from proctor.errors import InputError
from proctor.registry import did_you_mean
from proctor.suites.endovascular.rod import Rod
from proctor.suites.endovascular.wires import DEFAULTS, WIRES

DENSITY = 6.5e-12
"""Nitinol, N s^2/mm^4."""


class Tool(BaseModel):
    """A wire. From the tip: `tip_length_mm` with the tip's stiffness, then a taper over `taper_mm`, then the shaft. The
    last `curve_length_mm` are bent to `curve_radius_mm` at rest."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    length_mm: float = Field(default=DEFAULTS["length_mm"], ge=50, le=2000)
    radius_mm: float = Field(default=DEFAULTS["radius_mm"], ge=0.1, le=1.5)
    shaft_bending: float = Field(gt=0)
    shaft_torsion: float = Field(gt=0)
    tip_bending: float = Field(gt=0)
    tip_torsion: float = Field(gt=0)
    tip_length_mm: float = Field(default=DEFAULTS["tip_length_mm"], ge=0)
    taper_mm: float = Field(default=DEFAULTS["taper_mm"], ge=0)
    curve_radius_mm: float | None = Field(default=DEFAULTS["curve_radius_mm"], ge=3)
    """None: a straight tip."""
    curve_length_mm: float = Field(default=DEFAULTS["curve_length_mm"], ge=0)

    @model_validator(mode="after")
    def _fits(self) -> Tool:
        if self.tip_length_mm + self.taper_mm >= self.length_mm:
            raise ValueError("tip_length_mm and taper_mm together must be shorter than length_mm")
        return self


TOOLS = {name: Tool.model_validate(wire) for name, wire in WIRES.items()}
"""Tools by name."""


def find_tool(tool: str | Tool) -> Tool:
    """The tool of this name, or the tool itself. Raises InputError for an unknown name."""
    if isinstance(tool, Tool):
        return tool
    if tool in TOOLS:
        return TOOLS[tool]
    raise InputError(
        f'unknown tool "{tool}"' + did_you_mean(tool, TOOLS) + f" (known: {', '.join(TOOLS)}; or a "
        "mapping with shaft_bending, shaft_torsion, tip_bending, tip_torsion and more)"
    )


def rod_of(tool: Tool, spacing_mm: float) -> Rod:
    """The tool as a chain of nodes `spacing_mm` apart. The axial stiffness is numerical: large against bending over one
    edge (so that it does not show), small enough for the solver to take large turns."""
    n = int(np.ceil(tool.length_mm / spacing_mm)) + 4
    along = np.arange(n) * spacing_mm
    share = np.clip((along - tool.tip_length_mm) / max(tool.taper_mm, 1e-9), 0, 1)
    bend = tool.tip_bending * (tool.shaft_bending / tool.tip_bending) ** share
    twist = tool.tip_torsion * (tool.shaft_torsion / tool.tip_torsion) ** share
    rest = np.zeros(n)
    if tool.curve_radius_mm is not None:
        rest[(along > 0) & (along <= tool.curve_length_mm)] = spacing_mm / tool.curve_radius_mm
    mass = np.full(n, DENSITY * np.pi * tool.radius_mm**2 * spacing_mm)
    axial = np.clip(20 * bend / spacing_mm**2, 60.0, 600.0)
    return Rod(float(spacing_mm), float(tool.radius_mm), mass, axial, bend, twist, rest)
