"""The `metaworld` suite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from proctor.errors import InputError
from proctor.registry import nearest
from proctor.suites.metaworld.options import MetaworldOptions
from proctor.suites.metaworld.tasks import GROUPS, INSTRUCTIONS
from proctor.suites.protocol import Env, Suite, SuiteOptions


@dataclass(frozen=True)
class MetaworldBriefing:
    """What an agent may know beforehand: which task it is, and what it will be told to do."""

    task: str
    instruction: str
    options: MetaworldOptions


class MetaworldSuite(Suite):
    """A robot arm at a table: the fifty tasks of Meta-World."""

    name: ClassVar[str] = "metaworld"
    Options: ClassVar[type[SuiteOptions]] = MetaworldOptions

    def task_name(self, options: MetaworldOptions) -> str:
        """Meta-World's own name, such as `reach-v3`."""
        return options.task

    def task_defaults(self, options: MetaworldOptions) -> dict[str, Any]:
        """As Meta-World evaluates: success at any step counts, and ends the trial."""
        return {"success_rule": "ever", "stop_on_success": True}

    def expand(self, options: dict[str, Any]) -> list[dict[str, Any]]:
        """`group: MT10` and `group: MT50` written out; `group: MT1` is the task that is named beside it."""
        if "group" not in options:
            return [options]
        rest = {key: value for key, value in options.items() if key != "group"}
        group = str(options["group"])
        if group.upper() == "MT1":
            if "task" not in options:
                raise InputError("group: MT1 is one task; name it with task, such as task: reach-v3")
            return [rest]
        if group.upper() not in GROUPS:
            hint = nearest(group.upper(), GROUPS)
            raise InputError(
                f'found group "{group}"; expected one of MT1, {", ".join(GROUPS)}'
                + (f'; did you mean "{hint}"?' if hint else "")
            )
        if "task" in options:
            raise InputError(f"found both group: {group} and task: {options['task']}; keep one")
        return [{"task": task, **rest} for task in GROUPS[group.upper()]]

    def make(self, options: MetaworldOptions, *, render: bool, worlds: int) -> Env:
        from proctor.suites.metaworld.env import MetaworldEnv

        return MetaworldEnv(options)

    def briefing(self, options: MetaworldOptions) -> MetaworldBriefing:
        return MetaworldBriefing(options.task, INSTRUCTIONS[options.task], options)

    def needs(self) -> list[tuple[str, str]]:
        return [("metaworld", "metaworld")]
