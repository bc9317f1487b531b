"""The keys of a parallel evaluation as evaluators of manipulation policies write them.

    num_trials_per_task: 50    # n_trials of every task
    num_steps_wait: 10         # wait_steps of every task
    num_parallel: 10           # left out: the number of tasks

A config with one of the first two is in this form. What a task says for itself stays.
"""

from __future__ import annotations

from typing import Any, ClassVar

from proctor.config.forms import ConfigForm
from proctor.config.problems import Problems

TRIALS, WAIT = "num_trials_per_task", "num_steps_wait"


class ParallelForm(ConfigForm):
    """Trials and warm-up steps for all tasks at once, and as many slots as tasks."""

    name: ClassVar[str] = "libero"

    def recognises(self, data: dict[str, Any]) -> bool:
        return TRIALS in data or WAIT in data

    def translate(self, data: dict[str, Any], problems: Problems) -> dict[str, Any]:
        """The config with these keys given to its tasks, unless a task has its own."""
        if TRIALS in data and "n_trials" in data:
            problems.add((TRIALS,), "found beside n_trials, which means the same", "keep one")
        rest = {key: value for key, value in data.items() if key not in (TRIALS, WAIT)}
        if TRIALS in data:
            rest.setdefault("n_trials", data[TRIALS])
            problems.moved[("n_trials",)] = (TRIALS,)
        for key, ours in ((TRIALS, "n_trials"), (WAIT, "wait_steps")):
            if key in data and isinstance(rest.get("tasks"), list):
                moved = (ours, key, data[key])
                rest["tasks"] = [_given(task, i, moved, problems) for i, task in enumerate(rest["tasks"])]
        return rest

    def defaults(self, n_tasks: int) -> dict[str, Any]:
        return {"num_parallel": max(n_tasks, 1)}


def _given(task: Any, index: int, moved: tuple[str, str, Any], problems: Problems) -> Any:
    """The task with our key, unless it has its own or is no task."""
    ours, key, value = moved
    if not isinstance(task, dict) or ours in task:
        return task
    problems.moved["tasks", index, ours] = (key,)
    return {**task, ours: value}
