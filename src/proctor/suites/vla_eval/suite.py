"""The `vla_eval` suite."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from proctor.errors import InputError
from proctor.suites.protocol import Suite, SuiteOptions
from proctor.suites.vla_eval.benchmarks import matches
from proctor.suites.vla_eval.options import VlaEvalOptions

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
