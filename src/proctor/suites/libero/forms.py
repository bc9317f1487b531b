"""The keys of a parallel evaluation as evaluators of manipulation policies write them.

    num_trials_per_task: 50    # n_trials of every task
    num_steps_wait: 10         # wait_steps of every task
    num_parallel: 10           # left out: the number of tasks

A config with one of the first two is written out before anything is validated; problems are reported where the user
wrote what is wrong. What a task says for itself stays.
"""

from __future__ import annotations

from typing import Any

from proctor.config.problems import Problems

TRIALS, WAIT = "num_trials_per_task", "num_steps_wait"


def is_parallel_form(data: dict[str, Any]) -> bool:
    """Whether a config is of this form: then it has as many slots as tasks, unless it says otherwise."""
    return TRIALS in data or WAIT in data


def translate_parallel(data: dict[str, Any], problems: Problems) -> dict[str, Any]:
    """The config with these keys written out as ours; any other as it is. `problems` learns where the values that move
    were written."""
    if not is_parallel_form(data):
        return data
    if TRIALS in data and "n_trials" in data:
        problems.add((TRIALS,), "found beside n_trials, which means the same", "keep one")
    rest = {key: value for key, value in data.items() if key not in (TRIALS, WAIT)}
    if TRIALS in data:
        rest.setdefault("n_trials", data[TRIALS])
        problems.moved[("n_trials",)] = (TRIALS,)
    for key, ours in ((TRIALS, "n_trials"), (WAIT, "wait_steps")):
        if key in data and isinstance(rest.get("tasks"), list):
            rest["tasks"] = [_given(task, i, (ours, key, data[key]), problems) for i, task in enumerate(rest["tasks"])]
    return rest


def _given(task: Any, index: int, moved: tuple[str, str, Any], problems: Problems) -> Any:
    """The task with our key, unless it has its own or is no task."""
    ours, key, value = moved
    if not isinstance(task, dict) or ours in task:
        return task
    problems.moved["tasks", index, ours] = (key,)
    return {**task, ours: value}
