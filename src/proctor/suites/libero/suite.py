"""The `libero` suite and its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field, field_validator, model_validator

from proctor.suites.libero.installation import import_libero
from proctor.suites.libero.perturbations import Perturbation
from proctor.suites.libero.presets import PRESETS, TASKS, Benchmark, Preset, Protocol, Scenes
from proctor.suites.protocol import Suite, SuiteOptions


class LiberoOptions(SuiteOptions):
    """One task of the suite. In a config, an entry without `task` stands for all tasks of its benchmark."""

    places: ClassVar[frozenset[str]] = frozenset({"bddl_file", "states_file"})
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
    perturbation: Perturbation | None = None
    """What is made otherwise than LIBERO has it."""
    bddl_file: str | None = None
    states_file: str | None = None
    """A description and initial states in the place of the task's own, such as those of LIBERO-PRO; the description
    says the instruction, too."""
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
        """Such as `libero_spatial-3`, or `libero_spatial-3-camera-light` where these are perturbed."""
        kinds = [] if options.perturbation is None else options.perturbation.kinds
        own = ["files"] if options.bddl_file is not None or options.states_file is not None else []
        return "-".join([f"libero_{options.benchmark}", str(options.task), *own, *kinds])

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
        task = import_libero(options.assets_folder).task_of(options)
        return LiberoBriefing(task.name, task.instruction, options)

    def needs(self) -> list[tuple[str, str]]:
        return [("libero", "libero"), ("robosuite", "libero")]
