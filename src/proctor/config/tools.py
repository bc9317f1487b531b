"""Tools that agents bring: each must be one that every task knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proctor.config.models import TaskCfg
from proctor.config.paths import Context, resolve_options
from proctor.config.problems import Path, Problems
from proctor.config.validate import validate

_QUIET = Problems("")
"""For what has been said already."""


def check_tools(agents: Sequence[Any], tasks: Sequence[TaskCfg], context: Context) -> None:
    """Check the `tool` of each entry of `agents` as the option `tool` of every task would be. What is wrong is added
    to the context's problems, at the agent's own key."""
    for i, entry in enumerate(agents):
        if not isinstance(entry, dict) or not isinstance(entry.get("tool"), str | dict):
            continue
        where: Path = ("agents", i, "tool")
        tool = resolve_options(entry["tool"], where, Context(context.base, _QUIET))
        for task in tasks:
            _check(tool, task, where, context)


def _check(tool: str | dict[str, Any], task: TaskCfg, where: Path, context: Context) -> None:
    from proctor.suites import find_suite

    suite = find_suite(task.suite)
    options = validate(suite.Options, task.options, (), _QUIET)
    if "tool" not in suite.Options.model_fields:
        message = f'task "{task.name}" has no tools (suite {task.suite})'
        context.problems.add(where, message, "leave the key out, or say it in the policy's own options")
    elif options is None:
        return
    elif suite.is_batch(options):
        message = f'task "{task.name}" steps many worlds in one call, so agents cannot bring tools of their own'
        context.problems.add(where, message)
    else:
        validate(suite.Options, task.with_tool(tool).options, where[:-1], context.problems)
