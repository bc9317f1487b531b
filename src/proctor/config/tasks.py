"""Tasks, written out: suite checked, options complete, names filled in and unique."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from proctor.config.models import TaskCfg
from proctor.config.overrides import unique
from proctor.config.paths import Context, resolve_options
from proctor.config.problems import Path
from proctor.config.runtime import resolve_runtime
from proctor.config.seeds import check_count, seeds_of
from proctor.config.validate import check_name, part_name, validate
from proctor.errors import InputError
from proctor.registry import SUITES

if TYPE_CHECKING:
    from proctor.suites.protocol import Suite


def resolve_tasks(entries: list[Any], context: Context) -> list[TaskCfg]:
    """The tasks of a config in order. A task without a name gets its suite's, with -2, -3, ... where that is
    taken; the same name given twice is a problem. What is wrong is added to the context's problems, and such
    tasks are left out."""
    given = [e["name"] for e in entries if isinstance(e, dict) and isinstance(e.get("name"), str)]
    taken = set(given)
    tasks: list[TaskCfg] = []
    first_owner: dict[str, int] = {}
    for i, entry, prefix in _expanded(entries, context):
        where: Path = ("tasks", i)
        if not isinstance(entry, dict):
            validate(TaskCfg, entry, where, context.problems)
            continue
        data, default_name = _resolve_entry(entry, where, context)
        if "name" not in data:
            data["name"] = unique(prefix + default_name, taken)
            taken.add(data["name"])
        task = validate(TaskCfg, data, where, context.problems)
        if task is None:
            continue
        check_name(task.name, where, context, forbidden="/")
        if task.name in first_owner:
            message = f'two tasks are named "{task.name}" (tasks[{first_owner[task.name]}] and tasks[{i}])'
            context.problems.add((*where, "name"), f"{message}; give each its own name")
        first_owner.setdefault(task.name, i)
        tasks += [task] if ":" in task.suite or task.suite in SUITES else []
    return tasks


def _expanded(entries: list[Any], context: Context) -> Iterator[tuple[int, Any, str]]:
    """Each task with the position of the entry that it comes from: an entry may stand for a group of tasks. A name that
    is given to a group begins its tasks' names: that beginning is third, and empty for a single task."""
    from proctor.suites import find_suite

    for i, entry in enumerate(entries):
        options = entry.get("options", {}) if isinstance(entry, dict) else None
        suite_name = _suite_name(entry, ("tasks", i), context) if isinstance(options, dict) else None
        if options is None or suite_name is None:
            yield i, entry, ""
            continue
        key = "suite"
        try:
            suite = find_suite(suite_name)
            key = "options"
            here = replace(context, places=suite.Options.places)
            several = suite.expand(resolve_options(options, ("tasks", i, "options"), here))
        except InputError as error:
            context.problems.add(("tasks", i, key), str(error))
            continue
        common = {key: value for key, value in entry.items() if key != "name" or len(several) == 1}
        prefix = f"{entry['name']}-" if "name" in entry and len(several) > 1 else ""
        yield from ((i, {**common, "options": one}, prefix) for one in several)


def _resolve_entry(entry: dict[str, Any], where: Path, context: Context) -> tuple[dict[str, Any], str]:
    """The entry with its suite's options complete, and the name that its suite would give it."""
    from proctor.suites import find_suite

    data = dict(entry)
    if data.get("runtime") is not None:
        data["runtime"] = resolve_runtime(data["runtime"], (*where, "runtime"), context)
    fallback = f"task-{where[-1]}"
    suite_name = _suite_name(entry, where, context)
    if suite_name is None:
        return data, fallback
    data["suite"] = suite_name
    suite, options = find_suite(suite_name), entry.get("options", {})
    for key in [k for k in entry if k not in TaskCfg.model_fields and k in suite.Options.model_fields]:
        message = f'unknown key; "{key}" is an option of the {suite.name} suite'
        context.problems.add((*where, key), message, 'write it under "options"')
        del data[key]
    if not isinstance(options, dict):
        return data, fallback
    here = (*where, "options")
    resolved = resolve_options(options, here, replace(context, places=suite.Options.places))
    checked = validate(suite.Options, resolved, here, context.problems)
    if checked is None:
        return data, fallback
    try:
        data["options"] = suite.complete(checked).model_dump(mode="json")
    except InputError as error:
        context.problems.add(here, str(error))
    for key, value in suite.task_defaults(checked).items():
        if key not in context.run_keys:
            data.setdefault(key, value)
    try:
        default = suite.default_trials(checked)
        if not _fill_in_seeds(data, suite, checked, where, context):
            _fill_in_trials(data, default, where, context)
    except InputError as error:
        context.problems.add(here, str(error))
    return data, suite.task_name(checked)


def _fill_in_trials(data: dict[str, Any], default: int | None, where: Path, context: Context) -> None:
    """The seeds of the task written out, and the number of its trials: as many as it has seeds of its own or cases. No
    task has more trials than seeds are listed for it."""
    problems, here = context.problems, (*where, "n_trials")
    if data.get("seeds") is not None:
        seeds = seeds_of(data["seeds"], (*where, "seeds"), context)
        data["seeds"] = None if seeds is None else list(seeds)
        if seeds is not None:
            data["n_trials"] = check_count(data.get("n_trials"), len(seeds), here, problems)
    elif data.get("n_trials") is None:
        data["n_trials"] = default if default is None or context.n_seeds is None else context.n_trials
    elif context.n_seeds is not None:
        check_count(data["n_trials"], context.n_seeds, here, problems)


def _fill_in_seeds(data: dict[str, Any], suite: Suite, options: Any, where: Path, context: Context) -> bool:
    """The seeds that the suite's protocol gives the task's trials, and whether it gives any. Seeds that the config
    gives beside them are a problem, unless they are the same."""
    n = data.get("n_trials") or context.n_trials
    protocol = suite.trial_seeds(options, n) if isinstance(n, int) and n > 0 else None
    if protocol is None:
        return False
    own, found = list(protocol), data.get("seeds")
    if context.n_seeds is not None or (found is not None and not _begin_alike(found, own)):
        place = ("seeds",) if found is None else (*where, "seeds")
        context.problems.add(place, f"the options of {_task_words(data, where)} say which seeds its trials have")
    data["seeds"] = own
    return True


def _begin_alike(found: Any, own: list[int]) -> bool:
    return isinstance(found, list) and all(a == b for a, b in zip(found, own, strict=False))


def _task_words(data: dict[str, Any], where: Path) -> str:
    return f'task "{data["name"]}"' if isinstance(data.get("name"), str) else f"tasks[{where[-1]}]"


def _suite_name(entry: dict[str, Any], where: Path, context: Context) -> str | None:
    name, here = entry.get("suite"), (*where, "suite")
    return part_name(name, here, SUITES, "my_suite.py:MySuite", context) if isinstance(name, str) else None
