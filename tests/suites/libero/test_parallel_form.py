"""The keys of a parallel evaluation: trials per task, steps to wait, a slot for every task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proctor import config_from_dict, load_config
from proctor.config import ConfigError

AGENTS = [{"name": "r", "policy": "random"}]
TASKS = ["CartPole-v1", "Pendulum-v1", "Acrobot-v1"]


def resolved(**keys: Any) -> Any:
    return config_from_dict({"agents": AGENTS, "tasks": TASKS, **keys})


def test_the_form_is_a_way_to_write_an_examination() -> None:
    form = resolved(num_trials_per_task=50, num_steps_wait=10)
    tasks = [
        {"suite": "gymnasium", "options": {"id": name}, "n_trials": 50, "wait_steps": 10} for name in TASKS
    ]  # fmt: skip
    assert form == resolved(n_trials=50, num_parallel=3, tasks=tasks)


@pytest.mark.parametrize("key", ["num_trials_per_task", "num_steps_wait"])
def test_there_are_as_many_slots_as_tasks_unless_it_is_said(key: str) -> None:
    assert resolved(**{key: 2}).num_parallel == 3
    assert resolved(**{key: 2}, num_parallel=5).num_parallel == 5


def test_other_configs_keep_their_default() -> None:
    assert resolved().num_parallel == 16


def test_what_a_task_says_stays() -> None:
    own = {"suite": "gymnasium", "options": {"id": "CartPole-v1"}, "wait_steps": 0, "n_trials": 7}
    cfg = resolved(tasks=[own, "Pendulum-v1"], num_trials_per_task=2, num_steps_wait=5)
    assert [(task.n_trials, task.wait_steps) for task in cfg.tasks] == [(7, 0), (2, 5)]


def test_a_resolved_config_reads_back_as_itself() -> None:
    cfg = resolved(num_trials_per_task=3, num_steps_wait=1)
    assert config_from_dict(cfg.model_dump(mode="json")) == cfg


def test_overrides_may_use_the_keys() -> None:
    cfg = config_from_dict({"agents": AGENTS, "tasks": TASKS}, overrides=["num_trials_per_task=4"])
    assert (cfg.n_trials, cfg.num_parallel) == (4, 3)


def test_a_benchmark_of_one_anatomy_may_use_them_too() -> None:
    cfg = config_from_dict(
        {"agents": AGENTS, "anatomy": {"type": "aortic_arch"}, "simulator": "embedded", "num_trials_per_task": 4}
    )
    assert (cfg.n_trials, cfg.num_parallel) == (4, 1)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"num_trials_per_task": 0}, "4: num_trials_per_task: found 0; expected at least 1"),
        ({"num_steps_wait": -1}, "4: num_steps_wait: found -1; expected at least 0"),
        ({"num_steps_wait": "ten"}, '4: num_steps_wait: found "ten"; expected an integer'),
        (
            {"num_trials_per_task": 2, "n_trials": 3},
            "4: num_trials_per_task: found beside n_trials, which means the same; keep one",
        ),
    ],
)
def test_problems_are_told_where_they_were_written(tmp_path: Path, keys: dict[str, Any], says: str) -> None:
    file = tmp_path / "form.yml"
    lines = [f"{key}: {value}" for key, value in keys.items()]
    file.write_text("\n".join(["agents:", "  - {name: r, policy: random}", "tasks: [CartPole-v1]", *lines]))
    with pytest.raises(ConfigError) as found:
        load_config(file)
    assert [str(problem) for problem in found.value.problems] == [f"{file}:{says}"]
