"""The `metaworld` suite, and its options as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from proctor.errors import InputError
from proctor.registry import did_you_mean
from proctor.suites.metaworld.tasks import GROUPS, INSTRUCTIONS
from proctor.suites.protocol import Suite, SuiteOptions

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


@dataclass(frozen=True)
class MetaworldBriefing:
    """What an agent may know beforehand: which task it is, and what it will be told to do."""

    task: str
    instruction: str
    options: MetaworldOptions


class MetaworldSuite(Suite):
    """A robot arm at a table: the fifty tasks of Meta-World."""

    name: ClassVar[str] = "metaworld"
    seeds_matter: ClassVar[bool] = True
    Options: ClassVar[type[SuiteOptions]] = MetaworldOptions
    environment: ClassVar[str | None] = "proctor.suites.metaworld.env:make"
    runtime: ClassVar[str | None] = "metaworld"

    def task_name(self, options: MetaworldOptions) -> str:
        """Meta-World's own name, such as `reach-v3`."""
        return options.task

    def task_defaults(self, options: MetaworldOptions) -> dict[str, Any]:
        """As Meta-World evaluates: success at any step counts, and ends the trial."""
        return {"success_rule": "ever", "stop_on_success": True}

    def expand(self, options: dict[str, Any]) -> list[dict[str, Any]]:
        """`group: MT10`, `group: MT50` or a list of tasks written out; `group: MT1` is the task named beside it."""
        rest = {key: value for key, value in options.items() if key not in ("group", "task")}
        chosen: Any = options.get("task")
        if "group" in options:
            chosen = _tasks_of(str(options["group"]), chosen)
        if isinstance(chosen, list | tuple) and chosen:
            return [{"task": task, **rest} for task in chosen]
        return [rest if chosen is None else {"task": chosen, **rest}]

    def briefing(self, options: MetaworldOptions) -> MetaworldBriefing:
        return MetaworldBriefing(options.task, INSTRUCTIONS[options.task], options)

    def needs(self) -> list[tuple[str, str]]:
        return [("metaworld", "metaworld")]


def _tasks_of(group: str, named: Any) -> Any:
    """The tasks of a group; `named` is what the config has as `task`. Raises InputError where they do not fit."""
    if group.upper() == "MT1":
        if not isinstance(named, str):
            raise InputError("group: MT1 is one task; name it with task, such as task: reach-v3")
        return named
    if group.upper() not in GROUPS:
        expected = f'found group "{group}"; expected one of MT1, {", ".join(GROUPS)}'
        raise InputError(expected + did_you_mean(group.upper(), GROUPS))
    if named is not None:
        raise InputError(f"found both group: {group} and task: {named}; keep one")
    return GROUPS[group.upper()]
