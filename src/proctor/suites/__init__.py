"""Where agents are examined: suites by name, and environments from a task's config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from proctor.exports import lazily
from proctor.registry import SUITES

if TYPE_CHECKING:
    from proctor.config.models import TaskCfg
    from proctor.suites.protocol import (
        BatchEnv,
        ColumnEnv,
        Columns,
        DeviceEnv,
        Env,
        SheetEnv,
        Step,
        Suite,
        SuiteOptions,
    )
    from proctor_host.sheet import HEAD, REWARD, SUCCESS, TERMINATED, TRUNCATED, Sheet

__getattr__ = lazily(__name__, __file__)

__all__ = [
    "HEAD", "REWARD", "SUCCESS", "TERMINATED", "TRUNCATED", "BatchEnv", "ColumnEnv", "Columns", "DeviceEnv",
    "Env", "Sheet", "SheetEnv", "Step", "Suite", "SuiteOptions", "find_suite",
]  # fmt: skip


def find_suite(name: str) -> Suite:
    """The suite of this name, or behind this import string. Raises InputError where there is none."""
    return SUITES.find(name)()


def suite_for(task: TaskCfg) -> Suite:
    """The suite that a task names."""
    return find_suite(task.suite)


def is_batch(task: TaskCfg) -> bool:
    """Whether `make_env` gives a BatchEnv for this task."""
    suite = suite_for(task)
    return suite.is_batch(suite.Options.model_validate(task.options))


def accelerator(task: TaskCfg) -> str | None:
    """The device that steps the worlds of this task; None: the processor."""
    suite = suite_for(task)
    return suite.accelerator(suite.Options.model_validate(task.options))


def rows_alone(task: TaskCfg) -> bool:
    """Whether the task's own protocol asks for one row at a time."""
    suite = suite_for(task)
    return suite.rows_alone(suite.Options.model_validate(task.options))


def isolated(name: str, options: Mapping[str, Any]) -> bool:
    """Whether environments of this suite with these options may be made in worker processes only."""
    suite = find_suite(name)
    return suite.isolated(suite.Options.model_validate(options))


def briefing(name: str, options: Mapping[str, Any]) -> Any:
    """What an agent may know beforehand of a task of this suite with these options."""
    suite = find_suite(name)
    return suite.briefing(suite.Options.model_validate(options))


def make_env(name: str, options: Mapping[str, Any], *, render: bool, worlds: int) -> Env | BatchEnv:
    """Build an environment of a suite. `render`: frames will be asked for. `worlds`: how many a batch environment may
    have. Raises InputError for what the user can mend: an unknown id, a missing package, a wrong option."""
    suite = find_suite(name)
    return suite.make(suite.Options.model_validate(options), render=render, worlds=worlds)
