"""Options of the `endovascular` suite, as data."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from proctor.errors import InputError
from proctor.suites.endovascular.anatomy import ArchType
from proctor.suites.endovascular.tools import Tool, find_tool, profile
from proctor.suites.protocol import SuiteOptions

BRANCHES = ("bct", "rcca", "rsa", "lcca", "lsa")
Benchmark = Literal["BasicWireNav", "ArchVariety", "DualDeviceNav"]
"""eve_bench's tasks."""
Entry = Literal["tracking", "target", "last_action", "rotation", "inserted_lengths", "image"]
ENTRIES: tuple[Entry, ...] = ("tracking", "target", "last_action")
"""What stEVE's agents observe, in the order in which they take it flattened."""
BENCHMARKS: dict[str, dict[str, Any]] = {
    "BasicWireNav": {
        "type": "centerlines", "rotate_yzx_deg": (0.0, 133.0, 0.0), "radius_mm": 5.0, "target_mode": "centerline",
        "target_branches": ("btrunk", "carotid", "rt_carotid", "subclavian"), "image_rot_zx_deg": (0.0, 0.0),
        "friction": 0.1, "entry_at": ("aorta", -1),
    },
    "ArchVariety": {
        "arch_type": "I", "vary": True, "scale_diameter": 0.85, "target_mode": "centerline",
        "target_branches": ("lcca", "rcca", "lsa", "rsa", "bct"), "image_rot_zx_deg": (25.0, 0.0), "friction": 0.1,
    },
    "DualDeviceNav": {
        "type": "centerlines", "axes": ("y", "-z", "-x"), "entry_mm": (65.0, -5.0, 35.0), "target_mode": "centerline",
        "target_branches": tuple(f"Centerline curve - {name}.mrk" for name in ("LCCA", "LVA", "RCCA", "RVA")),
        "image_rot_zx_deg": (20.0, 5.0), "friction": 0.001,
    },
}  # fmt: skip
"""eve_bench's tasks as the embedded simulator has them: the anatomy"""
BENCHMARK_TOOLS = {
    "BasicWireNav": {"tool": "standard_j"},
    "ArchVariety": {"tool": "standard_j"},
    "DualDeviceNav": {"tool": "mic_guide", "catheter": "mic_cath"},
}
"""and the devices."""
MOST_TURN_DEG = 120.0
"""Of a catheter."""


class ArchCfg(SuiteOptions):
    """The vessel, the target and the C-arm, as every simulator of an aortic arch has them."""

    seed: int = Field(default=0, ge=0, lt=2**63)
    """Of the generator: another seed is another patient."""
    vary: bool = False
    """Each trial is another patient, drawn from its seed."""
    target_mode: Literal["branch_end", "centerline"] = "branch_end"
    """Whether the target is the end of a branch or any point of its centreline that lies in no other vessel."""
    target_branches: tuple[str, ...] = Field(default=("lcca",), min_length=1, strict=False)
    """With several, each trial draws one from its seed."""
    interim_target_mm: float | None = Field(default=None, gt=0, le=1000)
    """Show points on the way, so far apart, one after the other, as the observed target; None: the target itself."""
    interim_threshold_mm: float = Field(default=10.0, gt=0, le=1000)
    """How near the tip must come to such a point before the next one is shown."""
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
    """An arch of the embedded generator, or a tree from a folder of centrelines (see `vessel_files`)."""

    type: Literal["aortic_arch", "centerlines"] = "aortic_arch"
    arch_type: ArchType = "I"
    scale_diameter: float = Field(default=1.0, ge=0.5, le=2)
    """Of the generated arch's vessels."""
    friction: float = Field(default=0.001, ge=0, le=1)
    centerlines_folder: str | None = None
    """Of the centrelines."""
    entry_mm: tuple[float, float, float] | None = Field(default=None, strict=False)
    """Where the wire comes in, in the tree's coordinates: the nearest centreline point."""
    entry_at: tuple[str, Annotated[int, Field(ge=-100_000, le=100_000)]] | None = Field(default=None, strict=False)
    """The same as a line's name and the number of its point, -1 for its last."""
    axes: tuple[str, str, str] = Field(default=("x", "y", "z"), strict=False)
    """The file's axis, with a minus where it is turned over, that becomes x, y and z."""
    rotate_yzx_deg: tuple[float, float, float] = Field(default=(0.0, 0.0, 0.0), strict=False)
    """Then the tree is turned about y, z and x."""
    radius_mm: float = Field(default=5.0, gt=0, le=50)
    """Of lines that have no radii."""

    @model_validator(mode="after")
    def _fits(self) -> AorticArchCfg:
        if self.type == "centerlines":
            if self.centerlines_folder is None or (self.entry_mm is None) == (self.entry_at is None):
                raise ValueError("type centerlines needs centerlines_folder, and one of entry_mm and entry_at")
            if self.vary:
                raise ValueError("vary needs type aortic_arch: a folder has one patient")
            return self
        unknown = [name for name in self.target_branches if name not in BRANCHES]
        if unknown:
            raise ValueError(f"target_branches: found {', '.join(unknown)}; expected some of {', '.join(BRANCHES)}")
        return self

    @field_validator("axes")
    @classmethod
    def _axes(cls, axes: tuple[str, str, str]) -> tuple[str, str, str]:
        if sorted(axis.lstrip("-") for axis in axes) != ["x", "y", "z"]:
            raise ValueError(f"found {', '.join(axes)}; expected x, y and z in some order, with a minus or without")
        return axes


class EndovascularOptions(SuiteOptions):
    """One task of the suite."""

    brought: ClassVar[frozenset[str]] = frozenset({"tool"})
    benchmark: Benchmark | None = None
    """One of eve_bench's tasks: its anatomy and device, where these are not given."""
    anatomy: AorticArchCfg = AorticArchCfg()
    tool: str | Tool = "angled_standard"
    """A shipped tool by name, or a tool of your own. An agent that brings its own tool uses that one."""
    catheter: str | Tool | None = None
    """A second device, over the first; agents then observe as in stEVE."""
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
    tracking_memory: int = Field(default=2, ge=1, le=1000)
    """With `observation: steve`: pictures that the observation remembers, the newest first."""
    observed: tuple[Entry, ...] = Field(default=ENTRIES, min_length=1, strict=False)
    """With `observation: steve`: the entries of the observation, in this order."""
    image_px: int = Field(default=128, ge=16, le=1024)
    """With the entry `image`: rows and columns of the picture."""
    observation: Literal["plain", "steve"] = "plain"
    """What agents observe: this simulator's entries in mm, or stEVE's, scaled, with 3 tracking points 2 mm apart where
    nothing else is said, and actions in [-1, 1]."""
    normalize_action: bool = False
    """Actions in [-1, 1] of the largest speeds; only with `observation: steve`, where it is the default."""
    environment_file: str | None = None
    """A checkpoint of eve_rl (`.everl`): the task is the one it was evaluated in, as near as this simulator can; what
    is given beside it counts more."""
    privileged: bool = False
    """Adds the observation group `privileged`: what no picture shows, for scripted agents."""

    @model_validator(mode="before")
    @classmethod
    def _preset(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        name, given = data.get("benchmark"), data.get("anatomy", {})
        if name in BENCHMARKS and isinstance(given, dict):
            data = {**BENCHMARK_TOOLS[name], **data, "anatomy": {**BENCHMARKS[name], **given}}
        if data.get("catheter") is not None:
            data = {"observation": "steve", **data}
        if data.get("observation") == "steve":
            data = {"tracking_points": 3, "tracking_resolution_mm": 2.0, "normalize_action": True, **data}
        return data

    @model_validator(mode="after")
    def _one_view(self) -> EndovascularOptions:
        if self.observation == "plain" and self.normalize_action:
            raise ValueError("normalize_action needs observation: steve; agents can use action_scale: {to_space: true}")
        if self.observation == "steve" and self.privileged:
            raise ValueError("privileged needs observation: plain")
        return self

    @model_validator(mode="after")
    def _over_the_wire(self) -> EndovascularOptions:
        if self.catheter is None:
            return self
        if self.observation != "steve":
            raise ValueError("a catheter needs observation: steve, whose entries have a row for each device")
        outer, inner = find_tool(self.catheter).radius_mm, find_tool(self.tool).radius_mm
        if outer <= inner:
            raise ValueError(
                f"the catheter's radius ({outer} mm) must be larger than that of the tool in it ({inner} mm); "
                "mic_guide in mic_cath are a pair"
            )
        turn = float(np.rad2deg(np.ptp(profile(find_tool(self.catheter), 0.25)[:, 2])))
        if turn > MOST_TURN_DEG:
            raise ValueError(
                f"the catheter is bent by {turn:.0f} degrees: it comes out of the entry over the wire, and beyond "
                f"{MOST_TURN_DEG:.0f} it would turn back out of the vessel; as the tool, alone, it starts inside"
            )
        return self

    @field_validator("tool", "catheter")
    @classmethod
    def _tool(cls, tool: str | Tool | None) -> str | Tool | None:
        try:
            if tool is not None:
                find_tool(tool)
        except InputError as error:
            raise ValueError(str(error)) from None
        return tool
