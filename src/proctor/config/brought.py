"""Between agents and tasks: options of a task that an agent brings with it (`task_options`), each of which must fit
every task of the config; and what the tasks' protocols say of how agents are asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from proctor.config.models import TaskCfg
from proctor.config.paths import Context, resolve_options
from proctor.config.problems import Path, Problems
from proctor.config.validate import validate

if TYPE_CHECKING:
    from proctor.suites.protocol import Suite

KEY = "task_options"
_QUIET = Problems("")
"""For what has been said already."""


def brought_by_agents(tasks: Sequence[TaskCfg]) -> frozenset[str]:
    """The options that an agent may bring to one of these tasks, by what their suites declare."""
    from proctor.suites import suite_for

    return frozenset().union(*(suite_for(task).Options.brought for task in tasks))


def asked_alone(tasks: Sequence[TaskCfg]) -> bool:
    """Whether the protocol of one of these tasks asks a policy for one row at a time."""
    from proctor.suites import suite_for

    for task in tasks:
        suite = suite_for(task)
        options = validate(suite.Options, task.options, (), _QUIET)
        if options is not None and suite.rows_alone(options):
            return True
    return False


def check_brought(agents: Sequence[Any], tasks: Sequence[TaskCfg], context: Context) -> None:
    """Check the `task_options` of each entry of `agents` as options of every task. What is wrong is added to the
    context's problems, at the agent's own key."""
    for i, entry in enumerate(agents):
        if not isinstance(entry, dict) or not isinstance(entry.get(KEY), dict):
            continue
        where: Path = ("agents", i, KEY)
        options = resolve_options(entry[KEY], where, Context(context.base, _QUIET))
        for task in tasks:
            _check(options, task, where, context)


def _check(brought: dict[str, Any], task: TaskCfg, where: Path, context: Context) -> None:
    from proctor.suites import suite_for

    suite = suite_for(task)
    refused = [key for key in brought if key not in suite.Options.brought]
    for key in refused:
        message = f'task "{task.name}" takes no "{key}" from an agent (suite {task.suite})'
        context.problems.add((*where, key), message, _hint(key, suite))
    options = validate(suite.Options, task.options, (), _QUIET)
    if refused or options is None:
        return
    if brought and suite.is_batch(options):
        message = f'task "{task.name}" steps many worlds in one call, so agents cannot bring options of their own'
        context.problems.add(where, message)
    else:
        validate(suite.Options, task.with_options(brought).options, where, context.problems)


def _hint(key: str, suite: Suite) -> str:
    if key in suite.Options.model_fields:
        return "it is an option of the task; write it there"
    known = sorted(suite.Options.brought)
    return f"agents may bring: {', '.join(known)}" if known else "leave the key out, or say it in the policy's options"
