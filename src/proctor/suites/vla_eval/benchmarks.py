"""Finding a benchmark of vla-eval's, making it, and choosing among its tasks.

Needs the standard library and, when called, vla-eval; nothing of Proctor. The file is also a program, which writes a
benchmark's tasks down, so that a process that must stay clean can learn them from another:

    python benchmarks.py REQUEST.json ANSWER.json
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

MOST_SHOWN = 20


class Problem(Exception):
    """Something the user can mend: a class or a task that is not there."""


def find_class(target: str) -> Any:
    """The class behind `module:Class` or `file.py:Class`. Raises Problem where there is none, or it is no benchmark."""
    module_name, _, name = target.rpartition(":")
    base = _import("vla_eval.benchmarks.base").Benchmark
    module = _import_file(module_name) if module_name.endswith(".py") else _import(module_name)
    found = getattr(module, name, None)
    if not isinstance(found, type) or not issubclass(found, base):
        what = "has no" if found is None else "has, but not as a subclass of vla_eval.benchmarks.base.Benchmark,"
        raise Problem(f'"{module_name}" {what} "{name}"')
    return found


def build(target: str, kwargs: Mapping[str, Any], render_backend: str) -> Any:
    """A benchmark, its renderer chosen first, as vla-eval does. Raises Problem for what the class refuses."""
    found = find_class(target)
    if render_backend not in found.render_backends:
        able = ", ".join(sorted(found.render_backends))
        raise Problem(f"{target} can render on {able}; found render_backend: {render_backend}")
    found.configure_render(render_backend)
    try:
        return found(**kwargs)
    except TypeError as error:
        raise Problem(f"{target} was not made with kwargs {dict(kwargs)}: {error}") from error


def tasks_of(benchmark: Any) -> list[dict[str, Any]]:
    """All tasks, in the benchmark's order. Raises Problem where there is none."""
    tasks = list(benchmark.get_tasks())
    if not tasks:
        raise Problem(f"{type(benchmark).__name__} has no tasks with these kwargs")
    return tasks


def pick(tasks: list[dict[str, Any]], wanted: Any) -> dict[str, Any]:
    """The task of this number, of this name, or the only one with these fields. Raises Problem, which says what there
    is, where it is none or several."""
    if isinstance(wanted, int):
        if not 0 <= wanted < len(tasks):
            raise Problem(f"found task: {wanted}; the benchmark has the tasks 0 to {len(tasks) - 1}")
        return tasks[wanted]
    fields = {"name": wanted} if isinstance(wanted, str) else dict(wanted)
    found = [task for task in tasks if matches(task, fields)]
    if len(found) != 1:
        of = found or tasks
        names = ", ".join(str(task.get("name", task)) for task in of[:MOST_SHOWN]) + (", ..." * (len(of) > MOST_SHOWN))
        many = f"{len(found)} tasks are that: {names}" if found else f"the benchmark has {names}"
        raise Problem(f"found task: {wanted!r}; {many}")
    return found[0]


def matches(task: dict[str, Any], fields: Mapping[str, Any]) -> bool:
    """Whether a task has all these fields, with these values."""
    return all(key in task and task[key] == value for key, value in fields.items())


def plain(task: dict[str, Any]) -> dict[str, Any]:
    """What of a task is plain data: what vla-eval tells a model server of it."""
    return {key: value for key, value in task.items() if isinstance(value, (str, int, float, bool, list))}


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise Problem(f'the module "{name}" cannot be imported: there is no "{error.name}"') from error


def _import_file(path: str) -> Any:
    if not os.path.isfile(path):
        raise Problem(f"no file {path}")
    path = os.path.realpath(path)
    name = "benchmark_file_" + hashlib.sha256(path.encode()).hexdigest()[:16]
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if os.path.dirname(path) not in sys.path:
        sys.path.append(os.path.dirname(path))
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def main(request: str, answer: str) -> None:
    """Write down the tasks of the benchmark in `request`, or what is wrong with it."""
    sys.path.pop(0)  # this file's folder: its other files are not to be found as modules
    with open(request, encoding="utf-8") as file:
        asked = json.load(file)
    try:
        benchmark = build(asked["benchmark"], asked["kwargs"], asked["render_backend"])
        said: dict[str, Any] = {"tasks": [plain(task) for task in tasks_of(benchmark)]}
    except Problem as problem:
        said = {"problem": str(problem)}
    with open(answer, "w", encoding="utf-8") as file:
        json.dump(said, file)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
