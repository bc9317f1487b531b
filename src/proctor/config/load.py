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
from typing import Any

from pydantic import BaseModel

from proctor.config.agents import resolve_agents
from proctor.config.brought import brought_by_agents, check_brought
from proctor.config.forms import translated
from proctor.config.loggers import resolve_loggers
from proctor.config.models import EvalConfig, ScoringCfg, TaskCfg
from proctor.config.overrides import override
from proctor.config.paths import Context, import_string, resolve_options
from proctor.config.plain import plain
from proctor.config.problems import Problems, did_you_mean, shown
from proctor.config.reporting import check_report
from proctor.config.shorthands import expand_shorthands
from proctor.config.stopping import resolve_stop
from proctor.config.tasks import resolve_tasks
from proctor.config.validate import validate
from proctor.config.yaml_source import parse
from proctor.errors import InputError

_AGENT_STANDIN = {"name": "agent", "policy": "random"}
_TASK_STANDIN = {"name": "task", "suite": "gymnasium"}


def load_config(path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> EvalConfig:
    """The resolved config of a YAML file, with `key=value` overrides applied (see
    `proctor.config.overrides`). Raises ConfigError with every problem found, each with file, line and key."""
    file = FilePath(path)
    problems = Problems(str(path))
    text = _read(file, problems)
    problems.raise_any()
    raw = parse(text, problems)
    if raw is None:
        problems.raise_any()
    return _resolve(raw, overrides, Context(file.absolute().parent, problems))


def load_sections(
    path: str | os.PathLike[str], overrides: Sequence[str], sections: Mapping[str, type[BaseModel]]
) -> tuple[EvalConfig, dict[str, Any]]:
    """As `load_config`, for a file that has sections of its own beside those of an examination: the config, and each
    section as its model's instance, None where the file has none. One error for all that is wrong."""
    file = FilePath(path)
    problems = Problems(str(path))
    text = _read(file, problems)
    problems.raise_any()
    context = Context(file.absolute().parent, problems)
    raw = parse(text, problems)
    if not isinstance(raw, Mapping):
        problems.raise_any()
        return _resolve(raw, overrides, context), {}
    data = override(plain(raw, (), problems), overrides, problems)
    own = {key: data.pop(key, None) for key in sections}
    found = {
        key: None
        if value is None
        else validate(sections[key], resolve_options(value, (key,), context), (key,), problems)
        for key, value in own.items()
    }
    return _resolve(data, (), context), found


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
    _resolve_scoring(data["scoring"], context)
    scoring = validate(ScoringCfg, data["scoring"], ("scoring",), context.problems)
    context.problems.raise_any()
    assert scoring is not None
    return scoring


def _read(file: FilePath, problems: Problems) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        folder = file.absolute().parent
        near = did_you_mean(file.name, os.listdir(folder)) if folder.is_dir() else None
        problems.add((), "no such file", near)
    except UnicodeDecodeError as error:
        problems.add((), f"not UTF-8 text (byte {error.start}); expected a YAML file")
    except OSError as error:
        problems.add((), f"cannot be read: {error.strerror}")
    return ""


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
    _resolve_scoring(data.get("scoring"), context)
    agents, tasks = data.get("agents"), data.get("tasks")
    resolved = {**data}
    known: list[TaskCfg] = []
    if isinstance(data.get("loggers"), list):
        resolved["loggers"] = resolve_loggers(data["loggers"], context)
    if isinstance(tasks, list) and tasks:
        known = resolve_tasks(tasks, replace(context, run_keys=frozenset(data)))
        resolved["tasks"] = [t.model_dump(mode="json") for t in known] or [_TASK_STANDIN]
        for form in forms:
            resolved = {**form.defaults(len(known)), **resolved}
    if isinstance(agents, list) and agents:
        found = resolve_agents(agents, replace(context, brought=brought_by_agents(known)))
        resolved["agents"] = [agent.model_dump(mode="json") for agent in found] or [_AGENT_STANDIN]
        check_brought(agents, known, context)
    config = validate(EvalConfig, resolved, (), problems)
    if config is not None and not problems:
        _check_scored_tasks(config, problems)
        check_report(config, problems)
        config = resolve_stop(config, problems)
    problems.raise_any()
    assert config is not None
    return config


def _resolve_scoring(scoring: Any, context: Context) -> None:
    """Check a scoring's names and make its paths absolute, in place."""
    if not isinstance(scoring, dict):
        return
    if isinstance(scoring.get("mode"), str):
        scoring["mode"] = _scoring_mode(scoring["mode"], context)
    if isinstance(scoring.get("metrics"), list):
        scoring["metrics"] = [_metric(m, i, context) for i, m in enumerate(scoring["metrics"])]
    if isinstance(scoring.get("targets"), dict) and not scoring.get("metrics"):
        _check_targets(scoring["targets"], context)
    if isinstance(scoring.get("options", {}), dict):
        scoring["options"] = _scoring_options(scoring, context)


def _scoring_options(scoring: dict[str, Any], context: Context) -> dict[str, Any]:
    """The options with paths absolute and, for a registered scoring, every default written out."""
    from proctor.registry import SCORINGS

    mode, here = scoring.get("mode", ScoringCfg().mode), ("scoring", "options")
    options = resolve_options(scoring.get("options", {}), here, context)
    model = SCORINGS.load(mode).Options if mode in SCORINGS else None
    known = {} if model is None else model.model_fields
    for key in [key for key in scoring if key not in ScoringCfg.model_fields and key in known]:
        message = f'unknown key; "{key}" is an option of the scoring {mode}'
        context.problems.add(("scoring", key), message, 'write it under "options"')
        del scoring[key]
    checked = None if model is None else validate(model, options, here, context.problems)
    return options if checked is None else checked.model_dump(mode="json")


def _check_targets(targets: dict[str, Any], context: Context) -> None:
    """Refuse names that no metric has. A config that brings metrics of its own may name those, which are not known
    yet."""
    from proctor.registry import METRICS

    for name in targets:
        if name not in METRICS:
            message = f'there is a target for "{name}", which is no metric; `proctor list` shows them all'
            context.problems.add(("scoring", "targets", name), message, did_you_mean(name, METRICS.names()))


def _check_scored_tasks(config: EvalConfig, problems: Problems) -> None:
    """What a registered scoring says of the tasks."""
    from proctor.registry import SCORINGS
    from proctor.scoring import make_scoring

    try:
        if config.scoring.mode in SCORINGS.names():
            make_scoring(config.scoring).check_tasks(task.name for task in config.tasks)
    except InputError as error:
        problems.add(("scoring", "options"), str(error))


def _scoring_mode(mode: str, context: Context) -> str:
    from proctor.registry import SCORINGS

    if ":" in mode:
        return import_string(mode, ("scoring", "mode"), context)
    if mode not in SCORINGS.names():
        expected = f"expected one of {', '.join(SCORINGS.names())}, or an import string such as my_scoring.py:score"
        hint = did_you_mean(mode, SCORINGS.names())
        context.problems.add(("scoring", "mode"), f'unknown scoring "{mode}"; {expected}', hint)
    return mode


def _metric(metric: Any, index: int, context: Context) -> Any:
    where = ("scoring", "metrics", index)
    if not isinstance(metric, str):
        return metric
    if ":" not in metric:
        message = f'found "{metric}"; expected an import string such as my_metrics.py:MyMetric'
        context.problems.add(where, f"{message} (the built-in metrics are always computed)")
    return import_string(metric, where, context)
