"""Options of the `metaworld` suite, as data."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from proctor.registry import did_you_mean
from proctor.suites.metaworld.tasks import INSTRUCTIONS
from proctor.suites.protocol import SuiteOptions

Camera = Literal["topview", "corner", "corner2", "corner3", "behindGripper", "gripperPOV"]
Side = Field(default=128, ge=16, le=2048)


class MetaworldOptions(SuiteOptions):
    """One task of the suite. In a config `group: MT10` (or MT50) stands for all tasks of that group."""

    task: str
    """A name of Meta-World's, such as `reach-v3`; the `-v3` may be left out."""
    observation: Literal["state", "images"] = "state"
    """`state`: the vector of 39 numbers. `images`: cameras, the robot's own state and the instruction."""
    cameras: tuple[Camera, ...] = Field(default=("corner2",), min_length=1)
    image_height: int = Side
    image_width: int = Side
    privileged: bool = False
    """With images: also the vector of 39 numbers, which scripted experts need."""
    goal_observable: bool = True
    """Whether the last 3 of the 39 numbers are the goal's position, as in MT groups; else they are 0."""
    variations: int = Field(default=50, ge=1, le=1_000_000)
    """How many variations (positions of objects and goals) there are; trial i has variation i modulo this."""
    variation_seed: int = Field(default=42, ge=0, lt=2**32)
    """What they are drawn from: the same as `metaworld.MT1(task, seed=...)` draws."""
    shadows: bool = False
    reflections: bool = False
    samples: int = Field(default=0, ge=0, le=16)
    """Samples of each pixel, against jagged edges. Like the two above it costs much in software rendering."""
    upright: bool = True
    """Turn what the corner cameras see by 180 degrees: they hang upside down."""
    video_camera: Camera = "corner2"
    video_height: int = Field(default=480, ge=16, le=2048)
    video_width: int = Field(default=480, ge=16, le=2048)

    @field_validator("task")
    @classmethod
    def _task(cls, task: str) -> str:
        name = task if task.endswith("-v3") else f"{task}-v3"
        if name not in INSTRUCTIONS:
            hint = did_you_mean(name, INSTRUCTIONS) or " such as reach-v3"
            raise ValueError(f'found "{task}"; expected one of the {len(INSTRUCTIONS)} tasks of Meta-World{hint}')
        return name

    @field_validator("cameras")
    @classmethod
    def _cameras(cls, cameras: tuple[Camera, ...]) -> tuple[Camera, ...]:
        twice = sorted({camera for camera in cameras if cameras.count(camera) > 1})
        if twice:
            raise ValueError(f"found {', '.join(twice)} more than once; name each camera once")
        return cameras

    @model_validator(mode="after")
    def _privileged_is_for_images(self) -> MetaworldOptions:
        if self.privileged and self.observation == "state":
            raise ValueError("privileged: true is for observation: images; the state is all 39 numbers already")
        return self
