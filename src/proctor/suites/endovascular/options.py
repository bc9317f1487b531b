"""Options of the `endovascular` suite, as data."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, field_validator

from proctor.errors import InputError
from proctor.suites.endovascular.anatomy import ArchType
from proctor.suites.endovascular.tools import Tool, find_tool
from proctor.suites.protocol import SuiteOptions

BRANCHES = ("bct", "rcca", "rsa", "lcca", "lsa")


class ArchCfg(SuiteOptions):
    """The vessel, the target and the C-arm, as every simulator of an aortic arch has them."""

    type: Literal["aortic_arch"] = "aortic_arch"
    seed: int = Field(default=0, ge=0, lt=2**63)
    """Of the generator: another seed is another patient."""
    target_mode: Literal["branch_end"] = "branch_end"
    target_branches: tuple[str, ...] = Field(default=("lcca",), min_length=1, strict=False)
    """With several, each trial draws one from its seed."""
    target_threshold_mm: float = Field(default=5.0, gt=0, le=1000)
    image_frequency_hz: float = Field(default=7.5, ge=1, le=60)
    """Of pictures and of actions."""
    image_rot_zx_deg: tuple[float, float] = Field(default=(20.0, 5.0), strict=False)
    friction: float = Field(default=0.001, ge=0)

    @field_validator("target_branches")
    @classmethod
    def _once(cls, branches: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(branches)) < len(branches):
            raise ValueError("names a branch twice")
        return branches


class AorticArchCfg(ArchCfg):
    """An arch of the embedded generator."""

    arch_type: ArchType = "I"
    friction: float = Field(default=0.001, ge=0, le=1)

    @field_validator("target_branches")
    @classmethod
    def _known(cls, branches: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [name for name in branches if name not in BRANCHES]
        if unknown:
            raise ValueError(f"found {', '.join(unknown)}; expected some of {', '.join(BRANCHES)}")
        return branches


class EndovascularOptions(SuiteOptions):
    """One task of the suite."""

    brought: ClassVar[frozenset[str]] = frozenset({"tool"})
    anatomy: AorticArchCfg = AorticArchCfg()
    tool: str | Tool = "angled_standard"
    """A shipped tool by name, or a tool of your own. An agent that brings its own tool uses that one."""
    max_translation_mm_s: float = Field(default=35.0, gt=0, le=100)
    max_rotation_rad_s: float = Field(default=3.14, gt=0, le=10)
    """Bounds of the action space."""
    max_push_n: float = Field(default=1.5, gt=0, le=10)
    """The handle gives way above this force."""
    stop_at_tree_end: bool = True
    """Do not push on where the tip has come to the end of a vessel (the real one goes on, this one does not)."""
    start_mm: float = Field(default=10.0, ge=2, le=100)
    """At the start of a trial the curve of the tip is in the vessel, and so much of the wire behind it; it is not drawn
    back further, as a curve that unfolds in the sheath's mouth would press on the wall of its own."""
    substeps: int = Field(default=6, ge=4, le=400)
    """Of a control step."""
    iterations: int = Field(default=50, ge=1, le=200)
    """At most so many in a substep."""
    spacing_mm: float = Field(default=2.0, ge=0.5, le=5)
    """Between nodes of the wire,"""
    tip_spacing_mm: float = Field(default=1.0, ge=0.25, le=5)
    """and in its tip, from the end to a little behind the curve. Never more than `spacing_mm`."""
    tracking_points: int = Field(default=5, ge=1, le=50)
    """Observed points of the wire, from the tip on."""
    tracking_resolution_mm: float = Field(default=4.0, gt=0, le=50)
    """Between observed points."""
    privileged: bool = False
    """Adds the observation group `privileged`: what no picture shows, for scripted agents."""

    @field_validator("tool")
    @classmethod
    def _tool(cls, tool: str | Tool) -> str | Tool:
        try:
            find_tool(tool)
        except InputError as error:
            raise ValueError(str(error)) from None
        return tool
