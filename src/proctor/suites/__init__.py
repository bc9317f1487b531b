"""Where agents are examined: suites by name, and environments from a task's config."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proctor.exports import lazily
from proctor.registry import SUITES

if TYPE_CHECKING:
    from proctor.config.models import TaskCfg
    from proctor_host.sheet import HEAD, REWARD, SUCCESS, TERMINATED, TRUNCATED, Sheet
    from proctor.suites.protocol import BatchEnv, ColumnEnv, Columns, Env, SheetEnv, Step, Suite, SuiteOptions

__getattr__ = lazily(__name__, __file__)

__all__ = [
    "HEAD", "REWARD", "SUCCESS", "TERMINATED", "TRUNCATED", "BatchEnv", "ColumnEnv", "Columns", "Env", "Sheet",
    "SheetEnv", "Step", "Suite", "SuiteOptions", "find_suite",
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


def isolated(task: TaskCfg) -> bool:
    """Whether a task's environments may be made in worker processes only."""
    suite = suite_for(task)
    return suite.isolated(suite.Options.model_validate(task.options))


def briefing(task: TaskCfg) -> Any:
    """What an agent may know of a task beforehand."""
    suite = suite_for(task)
    return suite.briefing(suite.Options.model_validate(task.options))


def make_env(task: TaskCfg, *, render: bool, worlds: int) -> Env | BatchEnv:
    """Build a task's environment. `render`: frames will be asked for. `worlds`: how many a batch environment
    may have. Raises InputError for what the user can mend: an unknown id, a missing package, a wrong
    option."""
    suite = suite_for(task)
    return suite.make(suite.Options.model_validate(task.options), render=render, worlds=worlds)
