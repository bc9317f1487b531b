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
AXIAL = 5.0
"""Axial stiffness (N) of a wire, for each N mm^2 of bending stiffness,"""
AXIAL_N = (60.0, 600.0)
"""within these bounds."""
FINE_MM = 10.0
"""At least so much of a wire has the spacing of the tip."""


class Tool(BaseModel):
    """A wire. From the tip: `tip_length_mm` with the tip's stiffness, then a taper over `taper_mm`, then the shaft. The
    last `curve_length_mm` are bent to `curve_radius_mm` at rest, but for a straight end of `end_mm`."""

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
    end_mm: float = Field(default=DEFAULTS["end_mm"], ge=0, le=20)
    bends: tuple[tuple[float, float], ...] | None = Field(default=None, strict=False)
    """Instead of one curve: pieces from the tip on, (length mm, angle degrees) each, all in one plane."""

    @property
    def curved_mm(self) -> float:
        """How far behind the tip the shaft is straight at rest."""
        if self.bends is not None:
            return float(sum(length for length, _ in self.bends))
        return 0.0 if self.curve_radius_mm is None else self.end_mm + self.curve_length_mm

    @model_validator(mode="after")
    def _fits(self) -> Tool:
        if self.tip_length_mm + self.taper_mm >= self.length_mm:
            raise ValueError("tip_length_mm and taper_mm together must be shorter than length_mm")
        if self.curved_mm >= self.length_mm or any(length <= 0 for length, _ in self.bends or ()):
            raise ValueError("bends must have lengths above 0, together shorter than length_mm")
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


def rod_of(tool: Tool, spacing_mm: float, tip_spacing_mm: float, beside: Tool | None = None) -> Rod:
    """The tool as a chain of nodes `spacing_mm` apart; in the tip, to some mm behind its curve, `tip_spacing_mm` where
    that is less. An edge points as the middle of its piece of wire does: a node has the rest angle of what lies between
    the middles of its edges. The axial stiffness is numerical: large against bending over an edge (so that it
    does not show), small enough for the solver to take large turns. Two tools, each given as `beside` to the other, are
    divided alike."""
    length = _edges((tool, beside or tool), spacing_mm, min(tip_spacing_mm, spacing_mm))
    at = np.r_[0.0, np.cumsum(length[:-1])]
    before = np.r_[0.0, length[:-1]]
    span = 0.5 * (before + length)
    bend, twist = _stiffness(tool, at)
    rest = 2 * np.sin(0.5 * _angles(tool, at - 0.5 * before, at + 0.5 * length))
    rest[0] = 0.0
    mass = DENSITY * np.pi * tool.radius_mm**2 * span
    axial = np.clip(AXIAL * bend, *AXIAL_N)
    columns = [at, length, span, mass, axial, bend, twist, rest, np.zeros_like(at), np.full_like(at, tool.radius_mm)]
    return Rod(np.stack(columns, axis=1))


def profile(tool: Tool, grain_mm: float) -> np.ndarray:
    """(m, 3) every `grain_mm` behind the tip: EI, GJ (N mm^2), and by how much the resting tool has turned from its tip
    to there (rad)."""
    at = np.arange(0.0, tool.length_mm + grain_mm, grain_mm)
    return np.stack([*_stiffness(tool, at), _angles(tool, np.zeros_like(at), at)], axis=1)


def _stiffness(tool: Tool, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """EI and GJ at places behind the tip."""
    share = np.clip((at - tool.tip_length_mm) / max(tool.taper_mm, 1e-9), 0, 1)
    bend = tool.tip_bending * (tool.shaft_bending / tool.tip_bending) ** share
    return bend, tool.tip_torsion * (tool.shaft_torsion / tool.tip_torsion) ** share


def _angles(tool: Tool, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """By how much the resting wire turns between two places behind the tip, rad."""
    pieces = tool.bends
    if pieces is None:
        bend = 0.0 if tool.curve_radius_mm is None else np.rad2deg(tool.curve_length_mm / tool.curve_radius_mm)
        pieces = ((tool.end_mm, 0.0), (tool.curve_length_mm, float(bend)))
    total, begin = np.zeros(len(first)), 0.0
    for piece, degrees in pieces:
        inside = np.clip(np.minimum(last, begin + piece) - np.maximum(first, begin), 0.0, None)
        total += np.deg2rad(degrees) * inside / max(piece, 1e-9)
        begin += piece
    return total


def _edges(tools: tuple[Tool, Tool], spacing_mm: float, tip_spacing_mm: float) -> np.ndarray:
    """Lengths of the edges from the tip on, with some to spare behind the end of the longer tool."""
    fine = int(np.ceil((max(FINE_MM, *(tool.curved_mm for tool in tools)) + spacing_mm) / tip_spacing_mm))
    rest = max(max(tool.length_mm for tool in tools) - fine * tip_spacing_mm, 0.0)
    return np.r_[np.full(fine, tip_spacing_mm), np.full(int(np.ceil(rest / spacing_mm)) + 4, spacing_mm)]
