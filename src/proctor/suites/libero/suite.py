"""The `libero` suite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from proctor.suites.libero.installation import import_libero
from proctor.suites.libero.options import LiberoOptions
from proctor.suites.libero.presets import TASKS
from proctor.suites.protocol import Suite, SuiteOptions


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
