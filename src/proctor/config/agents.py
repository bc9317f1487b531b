"""Agents, written out: loader and name filled in, globs expanded, paths absolute, options complete.

Options of a task that an agent brings with it (`task_options`) must each fit every task of the config; and tasks'
protocols say how agents are asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from proctor.config.models import AgentCfg, TaskCfg
from proctor.config.overrides import stem_of
from proctor.config.paths import Context, existing_file, expand_pattern, is_pattern, resolve_options
from proctor.config.problems import Path, Problems
from proctor.config.runtime import resolve_runtime
from proctor.config.validate import check_name, part_name, validate
from proctor.errors import InputError
from proctor.references import is_reference, parse
from proctor.registry import LOADERS

if TYPE_CHECKING:
    from proctor.suites.protocol import Suite


def resolve_agents(entries: list[Any], context: Context) -> list[AgentCfg]:
    """The agents of a config in order; an entry whose checkpoint is a pattern gives one for each file. What
    is wrong is added to the context's problems, and such agents are left out."""
    agents: list[AgentCfg] = []
    owners: dict[str, int] = {}
    for i, entry in enumerate(entries):
        for name, agent in _resolve_entry(entry, ("agents", i), context):
            if name in owners:
                message = f'two agents are named "{name}" (agents[{owners[name]}] and agents[{i}])'
                context.problems.add(("agents", i, "name"), f"{message}; give each its own name")
            owners.setdefault(name, i)
            agents += [] if agent is None else [agent]
    return agents


def _resolve_entry(entry: Any, where: Path, context: Context) -> Iterator[tuple[str, AgentCfg | None]]:
    """Name and agent for each agent the entry stands for; None where something is wrong with it."""
    if not isinstance(entry, dict):
        validate(AgentCfg, entry, where, context.problems)
        return
    policy = _policy(entry, where, context)
    common = {"policy": "?", **entry} if policy is None else {**entry, "policy": policy}
    common["options"] = _options(entry, policy, where, context)
    if entry.get("runtime") is not None:
        common["runtime"] = resolve_runtime(entry["runtime"], (*where, "runtime"), context)
    if KEY in entry:
        common[KEY] = resolve_options(entry[KEY], (*where, KEY), context)
    for key in _misplaced_options(entry, policy, where, context):
        del common[key]
    for name, checkpoint in _checkpoints(entry, policy, where, context):
        data = {**common, "name": name, **({"checkpoint": checkpoint} if "checkpoint" in entry else {})}
        if isinstance(name, str):
            check_name(name, where, context)
        yield str(name), validate(AgentCfg, data, where, context.problems)


def _policy(entry: dict[str, Any], where: Path, context: Context) -> str | None:
    """The agent's loader or import string; None, with a problem noted, where there is none."""
    from proctor.policies import infer_loader

    policy, here = entry.get("policy"), (*where, "policy")
    if policy is None:
        if not isinstance(entry.get("checkpoint"), str):
            known = ", ".join(LOADERS.names())
            context.problems.add(here, f"missing; expected a loader ({known}), an import string or a checkpoint")
            return None
        try:
            return infer_loader(entry["checkpoint"], context.base)
        except InputError as error:
            context.problems.add(here, f"missing, and {error}")
            return None
    if not isinstance(policy, str):
        return None
    return part_name(policy, here, LOADERS, "my_policies.py:MyPolicy", context)


def _options(entry: dict[str, Any], policy: str | None, where: Path, context: Context) -> Any:
    """The entry's options with paths absolute and every default written out."""
    options = entry.get("options", {})
    if not isinstance(options, dict):
        return options
    here = (*where, "options")
    options = resolve_options(options, here, context)
    if policy is None or not isinstance(entry.get("policy", ""), str):
        return options
    by_import = ":" in policy
    if by_import and options.get("target", policy) != policy:
        message = f"found {options['target']}, but policy is {policy}; keep one of the two"
        context.problems.add((*here, "target"), message)
        return options
    from proctor.policies import loader_for

    form = loader_for(policy).Options
    data = {**options, "target": policy} if by_import else options
    model = validate(form, {**_alone(form, context), **data}, here, context.problems)
    if model is None:
        return options
    return model.model_dump(mode="json", exclude={"target"} if by_import else None)


def _alone(form: type[BaseModel], context: Context) -> dict[str, int]:
    """What an agent's options are where they do not say `pad_to` and a task's protocol asks for one row at a time. A
    loader that pads nothing by itself (`remote`) keeps to that."""
    return {"pad_to": 1} if context.rows_alone and form.model_fields["pad_to"].default is not None else {}


def _misplaced_options(entry: dict[str, Any], policy: str | None, where: Path, context: Context) -> list[str]:
    """Keys of the entry that are options of its loader, or of the tasks, with a problem noted for each."""
    from proctor.policies import loader_for

    options = {} if policy is None else loader_for(policy).Options.model_fields
    misplaced = [
        key for key in entry if key not in AgentCfg.model_fields and (key in options or key in context.brought)
    ]
    for key in misplaced:
        owner, home = ("", "options") if key in options else (" of the task", KEY)
        context.problems.add((*where, key), f'unknown key; "{key}" is an option{owner}', f'write it under "{home}"')
    return misplaced


def _checkpoints(entry: dict[str, Any], policy: str | None, where: Path, context: Context) -> list[tuple[Any, Any]]:
    """(name, absolute checkpoint) of each agent the entry stands for."""
    checkpoint, here = entry.get("checkpoint"), (*where, "checkpoint")
    name = entry.get("name")
    if isinstance(checkpoint, str) and is_reference(checkpoint):
        stem = _stem(checkpoint, here, context)
        return [(name if "name" in entry else stem, checkpoint)]
    if not isinstance(checkpoint, str) or "://" in checkpoint:
        stem = "agent" if policy is None else stem_of(policy)
        return [(name if "name" in entry else stem, checkpoint)]
    if not is_pattern(checkpoint, context.base):
        path = existing_file(checkpoint, here, context)
        return [(name if "name" in entry else FilePath(path).stem, path)]
    found = expand_pattern(checkpoint, context.base)
    if not found:
        context.problems.add(here, f'no file matches "{checkpoint}" under {context.base}')
    return [(stem if name is None else f"{name}/{stem}", path) for stem, path in found.items()]


def _stem(reference: str, where: Path, context: Context) -> str:
    """The name that a reference to a hub gives its agent; a problem at `where` if it is no reference."""
    try:
        return parse(reference).stem
    except InputError as error:
        context.problems.add(where, str(error))
        return "agent"


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
