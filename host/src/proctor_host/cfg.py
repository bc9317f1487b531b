"""What a worker is told of a run: plain data, so that it can be sent to any interpreter."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Mapping, Sequence

from proctor_host.trials import Trial


@dataclass(frozen=True)
class LimitsCfg:
    """Seconds that a call may take; None: any."""

    step_s: float | None = None
    reset_s: float | None = None
    trial_s: float | None = None
    act_s: float | None = None


@dataclass(frozen=True)
class RecordCfg:
    """What is kept of a trial. `series`: its arrays, not only what follows from them. `observations`: those, too.
    `states`: where everything is in space, as far as an environment says it. `films`: environments are made so that
    they can be filmed. `every`: one frame for so many steps; `fps`: frames of a second, None for real time;
    `keep_successes`: also films of trials that succeed. `processes`: how many make records of trials on a device; None:
    as many as there are cores, where that is a GPU."""

    series: bool = True
    observations: bool = False
    states: bool = False
    films: bool = False
    every: int = 1
    fps: float | None = None
    keep_successes: bool = True
    processes: int | None = None


@dataclass(frozen=True)
class TaskCfg:
    """A task as its environments are made and its trials are ended. `environment` is the function, by import string,
    that makes them from `options`; None: `suite` is asked, which is possible in the engine's interpreter only."""

    name: str
    suite: str
    options: Mapping[str, Any]
    environment: str | None = None
    max_steps: int | None = None
    """The step limit that a config sets; None: the environment's own."""
    wait_steps: int = 0
    success_rule: str = "at_end"
    stop_on_success: bool = False
    nan_observations: str = "fault"
    out_of_range: str = "clip"
    reusable: bool = True
    seeds_matter: bool = False
    needs_reset: str | None = None
    """`confirm`: an operator confirms each reset."""
    success_by: str = "environment"
    """Who says what success is: `environment`, `operator`."""


@dataclass(frozen=True)
class WorkerCfg:
    """`folder` is the run's, None where the worker cannot reach it: records are sent then. `tasks` by name. `brought`:
    options that agents bring with them, by agent. `metrics`: further ones, by import string."""

    folder: str | None
    tasks: Mapping[str, TaskCfg]
    record: RecordCfg = RecordCfg()
    limits: LimitsCfg = LimitsCfg()
    metrics: Sequence[str] = ()
    brought: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def task_of(self, trial: Trial) -> TaskCfg:
        """The trial's task, with the options that its agent brings."""
        task, brought = self.tasks[trial.task], self.brought.get(trial.agent)
        return replace(task, options={**task.options, **brought}) if brought else task

    def plain(self) -> dict[str, Any]:
        """As data: what `from_plain` reads."""
        return asdict(self)

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> WorkerCfg:
        return cls(
            data["folder"],
            {name: TaskCfg(**task) for name, task in data["tasks"].items()},
            RecordCfg(**data["record"]),
            LimitsCfg(**data["limits"]),
            tuple(data["metrics"]),
            data["brought"],
        )
