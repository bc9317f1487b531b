"""From a YAML file, or a dict, to a resolved `EvalConfig`; or to one error that lists everything that is
wrong.

Resolved means: short forms written out, overrides applied, other evaluators' forms translated, globs expanded, names
filled in, paths absolute, options complete with their defaults. The result is what `config.json` shows, and reading
that back gives an equal config. `output_root` alone stays relative to the working directory.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any, TypeVar

from pydantic import BaseModel

from proctor.config.agents import asked_alone, brought_by_agents, check_brought, resolve_agents
from proctor.config.checks import check_declared, check_report, check_scored_tasks, resolve_scoring, resolve_stop
from proctor.config.forms import expand_shorthands, translated
from proctor.config.models import EvalConfig, ScoringCfg, TaskCfg
from proctor.config.overrides import override
from proctor.config.paths import Context, python_path, resolve_options
from proctor.config.plain import plain
from proctor.config.problems import Problems, shown
from proctor.config.seeds import resolve_seeds
from proctor.config.tasks import resolve_tasks
from proctor.config.validate import resolve_kind, validate
from proctor.config.yaml_source import read
from proctor.registry import BACKENDS, LOGGERS

Model = TypeVar("Model", bound=BaseModel)
_AGENT_STANDIN = {"name": "agent", "policy": "random"}
_COMMON_WORKERS = (None, {"kind": "process"}, {"kind": "inline"})
"""Backends that need not be imported to know that this is right."""
_TASK_STANDIN = {"name": "task", "suite": "gymnasium"}


def load_config(path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> EvalConfig:
    """The resolved config of a YAML file, with `key=value` overrides applied (see
    `proctor.config.overrides`). Raises ConfigError with every problem found, each with file, line and key."""
    return load_sections(path, overrides, {})[0]


def load_sections(
    path: str | os.PathLike[str], overrides: Sequence[str], sections: Mapping[str, type[BaseModel]]
) -> tuple[EvalConfig, dict[str, Any]]:
    """As `load_config`, for a file that has sections of its own beside those of an examination: the config, and each
    section as its model's instance, None where the file has none. One error for all that is wrong."""
    data, found, context = _apart(path, overrides, sections)
    return _resolve(data, (), context), found


def load_sections_or_alone(
    path: str | os.PathLike[str], overrides: Sequence[str], sections: Mapping[str, type[BaseModel]], alone: type[Model]
) -> tuple[EvalConfig | Model, dict[str, Any]]:
    """As `load_sections`; where the file has neither agents nor tasks, what stands beside the sections is of the model
    `alone`."""
    data, found, context = _apart(path, overrides, sections)
    if not isinstance(data, Mapping) or "agents" in data or "tasks" in data:
        return _resolve(data, (), context), found
    config = validate(alone, dict(data), (), context.problems)
    context.problems.raise_any()
    assert config is not None
    return config, found


def _apart(
    path: str | os.PathLike[str], overrides: Sequence[str], sections: Mapping[str, type[BaseModel]]
) -> tuple[Any, dict[str, Any], Context]:
    """What a file has beside these sections, with overrides applied; the sections; and where problems are noted."""
    file, problems = FilePath(path), Problems(str(path))
    context = Context(file.absolute().parent, problems)
    raw = read(file, problems)
    if not isinstance(raw, Mapping):
        problems.raise_any()
        return raw, {}, context
    data = override(plain(raw, (), problems), overrides, problems)
    found: dict[str, Any] = dict.fromkeys(sections)
    for key, model in sections.items():
        if (value := data.pop(key, None)) is not None:
            found[key] = validate(model, resolve_options(value, (key,), context), (key,), problems)
    return data, found, context


def read_config(path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> tuple[dict[str, Any], FilePath]:
    """A YAML file as it was written, short forms written out and overrides applied, and its folder. Nothing that it
    names is imported, and whether it makes sense is not looked at. Raises ConfigError where it is no YAML."""
    file, problems = FilePath(path), Problems(str(path))
    raw = read(file, problems)
    if not isinstance(raw, Mapping):
        if not problems:
            problems.add((), f"found {shown(raw)}; expected a mapping with agents and tasks")
        problems.raise_any()
        return {}, file.absolute().parent
    data = plain(raw, (), problems)
    expand_shorthands(data)
    data = override(data, overrides, problems)
    expand_shorthands(data)
    problems.raise_any()
    return data, file.absolute().parent


def config_from_dict(raw: Mapping[str, Any], base: FilePath | None = None, overrides: Sequence[str] = ()) -> EvalConfig:
    """The resolved config of a dict such as YAML gives. Relative paths start from `base` (None: the working
    directory). Raises ConfigError with every problem found."""
    return _resolve(raw, overrides, Context((base or FilePath.cwd()).absolute(), Problems("config")))


def scoring_from_dict(raw: Mapping[str, Any] | str, base: FilePath | None = None) -> ScoringCfg:
    """The resolved `scoring` of a config, whatever has become of its agents and tasks. Raises ConfigError with
    every problem found."""
    context = Context((base or FilePath.cwd()).absolute(), Problems("config"))
    data = plain({"scoring": raw}, (), context.problems)
    expand_shorthands(data)
    resolved = resolve_scoring(data["scoring"], (), context)
    scoring = validate(ScoringCfg, resolved, ("scoring",), context.problems)
    context.problems.raise_any()
    assert scoring is not None
    return scoring


def _is_auto(workers: Any) -> bool:
    """Whether the backend is chosen when the run begins; then there are no options for it."""
    return isinstance(workers, dict) and workers.get("kind", "auto") == "auto" and not workers.get("options")


def _resolve(raw: Any, overrides: Sequence[str], context: Context) -> EvalConfig:
    problems = context.problems
    if not isinstance(raw, Mapping):
        problems.add((), f"found {shown(raw)}; expected a mapping with agents and tasks")
        problems.raise_any()
    data = plain(raw, (), problems)
    expand_shorthands(data)
    data = override(data, overrides, problems)
    expand_shorthands(data)
    data, forms = translated(data, problems)
    expand_shorthands(data)
    data, n_seeds = resolve_seeds(data, context)
    agents, tasks = data.get("agents"), data.get("tasks")
    resolved = {**data, "python_path": python_path(data.get("python_path"), context)}
    known: list[TaskCfg] = []
    if isinstance(data.get("loggers"), list):
        resolved["loggers"] = [resolve_kind(x, ("loggers", i), LOGGERS, context) for i, x in enumerate(data["loggers"])]
    if data.get("workers") not in _COMMON_WORKERS and not _is_auto(data["workers"]):
        resolved["workers"] = resolve_kind(data["workers"], ("workers",), BACKENDS, context)
    if isinstance(tasks, list) and tasks:
        n = data.get("n_trials", EvalConfig.model_fields["n_trials"].default)
        run = {"run_keys": frozenset(data), "n_trials": n if isinstance(n, int) else None, "n_seeds": n_seeds}
        known = resolve_tasks(tasks, replace(context, **run))
        resolved["tasks"] = [t.model_dump(mode="json") for t in known] or [_TASK_STANDIN]
        for form in forms:
            resolved = {**form.defaults(len(known)), **resolved}
    resolved["scoring"] = resolve_scoring(data.get("scoring"), known, context)
    if isinstance(agents, list) and agents:
        told = replace(context, brought=brought_by_agents(known), rows_alone=asked_alone(known))
        found = resolve_agents(agents, told)
        resolved["agents"] = [agent.model_dump(mode="json") for agent in found] or [_AGENT_STANDIN]
        check_brought(agents, known, context)
    config = validate(EvalConfig, resolved, (), problems)
    if config is not None:
        check_report(config, problems)
        check_declared(config, problems)
    if config is not None and not problems:
        check_scored_tasks(config, problems)
        config = resolve_stop(config, problems)
    problems.raise_any()
    assert config is not None
    return config
