"""How motion files are read, as data."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class MotionOptions(BaseModel):
    """What a file does not say of itself, and what is tolerated."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fps: float | None = Field(default=None, gt=0, le=100_000, allow_inf_nan=False)
    """Frames a second. Null: what the file says; 30 for CSV, which says nothing. A number wins over the file."""
    quaternion_order: Literal["xyzw", "wxyz"] | None = None
    """Null: xyzw for CSV and PKL, wxyz for NPZ."""
    velocities: Literal["computed", "file"] = "computed"
    """file: joint and root velocities of an NPZ are taken as they are, instead of differences of the poses."""
    angular_velocity_frame: Literal["world", "body"] = "world"
    """The frame of the root's angular velocity in the file; for `velocities: file`."""
    joint_names: tuple[str, ...] | None = None
    """The joints in the file's order. Null: what the file says, else the robot's order."""
    joint_tolerance: float = Field(default=0.05, ge=0)
    """rad by which a joint may exceed its limits before the file is refused; infinite: any."""
    clip_s: float | None = Field(default=None, gt=0, le=1_000_000, allow_inf_nan=False)
    """Cut motions into clips of this many seconds, named `NAME@0-5s`. Null: whole motions."""
