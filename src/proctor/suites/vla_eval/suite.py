"""The `vla_eval` suite, and its options as data."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from proctor.errors import InputError
from proctor.suites.protocol import Suite, SuiteOptions
from proctor.suites.vla_eval.benchmarks import matches

MOST_NUMBERS = 10_000
Bound = float | tuple[float, ...]
Number = Annotated[int, Field(ge=0, le=1_000_000, strict=True)]


class ActionCfg(BaseModel):
    """Actions of a benchmark that does not say how many numbers they have, or within which bounds."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    size: int = Field(ge=1, le=MOST_NUMBERS)
    low: Bound | None = None
    """One number for all, or one for each; None: unbounded."""
    high: Bound | None = None

    @model_validator(mode="after")
    def _bounds_fit(self) -> ActionCfg:
        for name in ("low", "high"):
            bound = getattr(self, name)
            if isinstance(bound, tuple) and len(bound) != self.size:
                raise ValueError(f"{name} has {len(bound)} numbers; the action has {self.size}")
        lows, highs = self._each(self.low, float("-inf")), self._each(self.high, float("inf"))
        if not all(low < high for low, high in zip(lows, highs, strict=True)):
            raise ValueError(f"found low {self.low} and high {self.high}; expected low below high")
        return self

    def _each(self, bound: Bound | None, otherwise: float) -> tuple[float, ...]:
        if isinstance(bound, tuple):
            return bound
        return (otherwise if bound is None else bound,) * self.size


class VlaEvalOptions(SuiteOptions):
    """One task of a benchmark. In a config `task` may be a list, and where vla-eval is installed beside Proctor, an
    entry without it stands for all tasks."""

    benchmark: str
    """`package.module:Class` or `file.py:Class`, a subclass of vla-eval's `Benchmark`."""
    kwargs: dict[str, Any] = Field(default_factory=dict)
    """What the class is made with: `params` in a config of vla-eval's."""
    task: Number | str | dict[str, Any]
    """Which of the benchmark's tasks: its number from 0, its `name`, or fields that it alone has."""
    render_backend: Literal["gpu", "cpu"] = "gpu"
    """As vla-eval's `render`. A class that was not made for `cpu` refuses it."""
    action: ActionCfg | None = None
    """None: what the benchmark says."""
    text_bytes: int = Field(default=256, ge=1, le=65_536)
    """Room for each text of an observation."""
    flags: tuple[str, ...] = ()
    """Entries of an observation that are there only when they are true, such as `episode_restart`."""
    leave_out: tuple[str, ...] = ()
    """Entries that are not wanted, or have no fixed shape, such as `video_history`."""
    missing: Literal["fault", "last"] = "fault"
    """An entry that a later observation lacks: the environment's fault, or as it was last."""
    fresh: bool = False
    """Make the benchmark anew for each trial; for one that carries something over a reset."""
    video_image: str | None = None
    """Which image a video shows; None: the first."""

    @field_validator("benchmark")
    @classmethod
    def _import_string(cls, target: str) -> str:
        module, _, name = target.rpartition(":")
        if not module or not name.isidentifier():
            raise ValueError(f'found "{target}"; expected package.module:Class or path/to/file.py:Class')
        return target

    @field_validator("task")
    @classmethod
    def _task(cls, task: int | str | dict[str, Any]) -> int | str | dict[str, Any]:
        if task in ("", {}):
            raise ValueError(f"found {task!r}; expected a number from 0, a name, or fields with their values")
        return task


_ODD = re.compile(r"[^\w.-]+")
INSTALL = 'pip install "vla-eval==0.8.*"'


class VlaEvalSuite(Suite):
    """Any benchmark of vla-eval's, or one of yours that derives from its class."""

    name: ClassVar[str] = "vla_eval"
    Options: ClassVar[type[SuiteOptions]] = VlaEvalOptions
    runtime: ClassVar[str | None] = "vla_eval"
    environment: ClassVar[str | None] = "proctor.suites.vla_eval.environment:make"
    install: ClassVar[str | None] = INSTALL

    def task_name(self, options: VlaEvalOptions) -> str:
        """The class and the task, such as `KinetixBenchmark-Grasp-Easy` or `KinetixBenchmark-0`."""
        chosen = options.task
        told = "-".join(f"{value}" for value in chosen.values()) if isinstance(chosen, dict) else str(chosen)
        return f"{options.benchmark.rpartition(':')[2]}-{_ODD.sub('-', told).strip('-')}"

    def expand(self, options: dict[str, Any]) -> list[dict[str, Any]]:
        """A list of tasks written out. An entry without `task`, or with fields that several have, stands for all of
        them, where vla-eval is installed beside Proctor: only the benchmark knows its tasks."""
        chosen: Any = options.get("task")
        if isinstance(chosen, list) and chosen:
            return [{**options, "task": task} for task in chosen]
        if chosen is not None and (not isinstance(chosen, dict) or not chosen):
            return [options]
        if importlib.util.find_spec("vla_eval") is None:
            if chosen is not None:
                return [options]
            raise InputError(
                "which tasks there are only the benchmark knows, and vla-eval is not installed beside Proctor; name "
                "them by number or name, such as task: [0, 1, 2]"
            )
        tasks = list_tasks(options)
        found = [i for i, task in enumerate(tasks) if chosen is None or matches(task, chosen)]
        if not found:
            raise InputError(f"found task: {chosen}; none of the benchmark's {len(tasks)} tasks is that")
        return [{**options, "task": _shortest(tasks, i)} for i in found]

    def isolated(self, options: VlaEvalOptions) -> bool:
        """Always: some of these classes change other packages when they are used (that of LIBERO has `torch.load`
        unpickle anything)."""
        return True

    def needs(self) -> list[tuple[str, str]]:
        return [("vla_eval", "")]


def list_tasks(options: dict[str, Any]) -> list[dict[str, Any]]:
    """The tasks of a benchmark, as far as they are plain data, asked in a process of its own: to make a benchmark is to
    run somebody's code. `options` are yet to be checked. Raises InputError for what the user can mend."""
    checked = VlaEvalOptions.model_validate({**options, "task": 0})
    wanted = checked.model_dump(mode="json", include={"benchmark", "kwargs", "render_backend"})
    program = Path(__file__).with_name("benchmarks.py")
    with tempfile.TemporaryDirectory() as folder:
        request, answer = Path(folder, "request.json"), Path(folder, "answer.json")
        request.write_text(json.dumps(wanted))
        command = [sys.executable, str(program), str(request), str(answer)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        if not answer.is_file():
            lines = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
            raise InputError(f"the tasks of {checked.benchmark} could not be listed: {lines[-1]}")
        said = json.loads(answer.read_text())
    if "problem" in said:
        raise InputError(said["problem"])
    return said["tasks"]


def _shortest(tasks: list[dict[str, Any]], number: int) -> int | str:
    """A task's name where no other has it, else its number."""
    name = tasks[number].get("name")
    if not isinstance(name, str) or not name or sum(task.get("name") == name for task in tasks) > 1:
        return number
    return name
