"""The `libero` suite, its options, and the protocols that LIBERO is evaluated with, as data: numbers from different
ones are not comparable."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from proctor.suites.libero.installation import import_libero
from proctor.suites.protocol import Suite, SuiteOptions

Benchmark = Literal["spatial", "object", "goal", "10", "90"]
Protocol = Literal["openpi", "libero_original", "waypoint"]
Scenes = Literal["own", "sequence", "same"]

TASKS: dict[str, int] = {"spatial": 10, "object": 10, "goal": 10, "10": 10, "90": 90}
"""How many tasks each benchmark has."""


@dataclass(frozen=True)
class Preset:
    """`max_steps`: by benchmark, the wait not counted. `rotated`: frames are turned by 180 degrees. `image_px`: side of
    a frame after resizing. `latched`: success that comes during the wait counts."""

    trials: int
    wait_steps: int
    dummy_action: tuple[float, ...]
    max_steps: dict[str, int]
    render_px: int
    image_px: int
    rotated: bool
    scene_seed: int
    latched: bool = False


_OPENPI = Preset(
    trials=50,
    wait_steps=10,
    dummy_action=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0),
    max_steps={"spatial": 220, "object": 280, "goal": 300, "10": 520, "90": 400},
    render_px=256,
    image_px=224,
    rotated=True,
    scene_seed=7,
)

PRESETS: dict[str, Preset] = {
    "openpi": _OPENPI,
    "libero_original": Preset(
        trials=20,
        wait_steps=5,
        dummy_action=(0.0,) * 7,
        max_steps=dict.fromkeys(TASKS, 600),
        render_px=128,
        image_px=128,
        rotated=False,
        scene_seed=10000,
    ),
    "waypoint": replace(_OPENPI, dummy_action=(0.0,) * 7, latched=True),
}


class LiberoOptions(SuiteOptions):
    """One task of the suite. In a config, an entry without `task` stands for all tasks of its benchmark."""

    benchmark: Benchmark
    task: int = Field(ge=0, le=10_000)
    """Its number within the benchmark, from 0."""
    protocol: Protocol = "openpi"
    cameras: tuple[str, ...] = Field(default=("agentview", "robot0_eye_in_hand"), min_length=1)
    render_px: int | None = Field(default=None, ge=16, le=2048)
    image_px: int | None = Field(default=None, ge=16, le=2048)
    rotated: bool | None = None
    scene_seed: int | None = Field(default=None, ge=0, lt=2**32)
    """What the places of furniture are drawn from, which initial states leave open. These four: None is the
    protocol's."""
    scenes: Scenes = "own"
    """How trials get their furniture. `own`: each from `scene_seed` plus its index. `sequence`: the generator is seeded
    once, and a trial has the scene of as many resets. `same`: all from `scene_seed`."""
    shadows: bool = True
    reflections: bool = True
    """Published policies have learned from frames with both; without, software rendering is faster."""
    assets_folder: str | None = None
    """Where LIBERO's meshes and textures are; None: `assets` in LIBERO's config file, in its package, or where it
    downloads them to."""
    video_cameras: tuple[str, ...] = Field(default=("agentview", "robot0_eye_in_hand"), min_length=1)
    """What a video shows, side by side."""
    video_px: int = Field(default=256, ge=16, le=2048)

    @field_validator("benchmark", mode="before")
    @classmethod
    def _benchmark(cls, value: Any) -> Any:
        """`10` in YAML is a number; `libero_spatial` is the package's name."""
        return value.removeprefix("libero_") if isinstance(value, str) else str(value) if value in (10, 90) else value

    @model_validator(mode="after")
    def _task_exists(self) -> LiberoOptions:
        count = TASKS[self.benchmark]
        if self.task >= count:
            raise ValueError(f"task: found {self.task}; libero_{self.benchmark} has the tasks 0 to {count - 1}")
        return self

    @property
    def preset(self) -> Preset:
        return PRESETS[self.protocol]


@dataclass(frozen=True)
class LiberoBriefing:
    """What an agent may know beforehand."""

    task: str
    instruction: str
    options: LiberoOptions


class LiberoSuite(Suite):
    """A robot arm in kitchens and living rooms: LIBERO's benchmarks, through `hf-libero`."""

    name: ClassVar[str] = "libero"
    Options: ClassVar[type[SuiteOptions]] = LiberoOptions
    environment: ClassVar[str | None] = "proctor.suites.libero.env:make"
    runtime: ClassVar[str | None] = "libero"

    def task_name(self, options: LiberoOptions) -> str:
        """Such as `libero_spatial-3`."""
        return f"libero_{options.benchmark}-{options.task}"

    def task_defaults(self, options: LiberoOptions) -> dict[str, Any]:
        """As the protocol says: trials, wait, and success ends the trial."""
        preset = options.preset
        return {
            "n_trials": preset.trials,
            "wait_steps": preset.wait_steps,
            "success_rule": "ever",
            "stop_on_success": True,
        }

    def expand(self, options: dict[str, Any]) -> list[dict[str, Any]]:
        """An entry without `task` is the whole benchmark, one with a list of tasks is those."""
        chosen: Any = options.get("task")
        if chosen is None:
            count = TASKS.get(str(options.get("benchmark")).removeprefix("libero_"))
            chosen = range(count) if count is not None else 0
        if isinstance(chosen, range | list) and len(chosen):
            return [{**options, "task": task} for task in chosen]
        return [{**options, "task": chosen}]

    def briefing(self, options: LiberoOptions) -> LiberoBriefing:
        task = import_libero(options.assets_folder).task(options.benchmark, options.task)
        return LiberoBriefing(task.name, task.instruction, options)

    def needs(self) -> list[tuple[str, str]]:
        return [("libero", "libero"), ("robosuite", "libero")]
