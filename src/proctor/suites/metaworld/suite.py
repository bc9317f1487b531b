"""The `metaworld` suite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from proctor.errors import InputError
from proctor.registry import did_you_mean
from proctor.suites.metaworld.options import MetaworldOptions
from proctor.suites.metaworld.tasks import GROUPS, INSTRUCTIONS
from proctor.suites.protocol import Suite, SuiteOptions


@dataclass(frozen=True)
class MetaworldBriefing:
    """What an agent may know beforehand: which task it is, and what it will be told to do."""

    task: str
    instruction: str
    options: MetaworldOptions


class MetaworldSuite(Suite):
    """A robot arm at a table: the fifty tasks of Meta-World."""

    name: ClassVar[str] = "metaworld"
    seeds_matter: ClassVar[bool] = True
    Options: ClassVar[type[SuiteOptions]] = MetaworldOptions
    environment: ClassVar[str | None] = "proctor.suites.metaworld.env:make"
    runtime: ClassVar[str | None] = "metaworld"

    def task_name(self, options: MetaworldOptions) -> str:
        """Meta-World's own name, such as `reach-v3`."""
        return options.task

    def task_defaults(self, options: MetaworldOptions) -> dict[str, Any]:
        """As Meta-World evaluates: success at any step counts, and ends the trial."""
        return {"success_rule": "ever", "stop_on_success": True}

    def expand(self, options: dict[str, Any]) -> list[dict[str, Any]]:
        """`group: MT10`, `group: MT50` or a list of tasks written out; `group: MT1` is the task named beside it."""
        rest = {key: value for key, value in options.items() if key not in ("group", "task")}
        chosen: Any = options.get("task")
        if "group" in options:
            chosen = _tasks_of(str(options["group"]), chosen)
        if isinstance(chosen, list | tuple) and chosen:
            return [{"task": task, **rest} for task in chosen]
        return [rest if chosen is None else {"task": chosen, **rest}]

    def briefing(self, options: MetaworldOptions) -> MetaworldBriefing:
        return MetaworldBriefing(options.task, INSTRUCTIONS[options.task], options)

    def needs(self) -> list[tuple[str, str]]:
        return [("metaworld", "metaworld")]


def _tasks_of(group: str, named: Any) -> Any:
    """The tasks of a group; `named` is what the config has as `task`. Raises InputError where they do not fit."""
    if group.upper() == "MT1":
        if not isinstance(named, str):
            raise InputError("group: MT1 is one task; name it with task, such as task: reach-v3")
        return named
    if group.upper() not in GROUPS:
        expected = f'found group "{group}"; expected one of MT1, {", ".join(GROUPS)}'
        raise InputError(expected + did_you_mean(group.upper(), GROUPS))
    if named is not None:
        raise InputError(f"found both group: {group} and task: {named}; keep one")
    return GROUPS[group.upper()]
