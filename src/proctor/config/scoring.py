"""The scoring of a config, written out: its name filled in by the tasks, its options complete, its metrics checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proctor.config.kinds import part_name
from proctor.config.models import ScoringCfg, TaskCfg
from proctor.config.paths import Context, import_string, resolve_options
from proctor.config.problems import Problems, did_you_mean
from proctor.config.validate import validate
from proctor.registry import METRICS, SCORINGS


def resolve_scoring(scoring: Any, tasks: Sequence[TaskCfg], context: Context) -> Any:
    """The scoring with the tasks' own name where none is given, paths absolute and options complete. What is wrong is
    added to the context's problems."""
    if scoring is None:
        scoring = {}
    if not isinstance(scoring, dict):
        return scoring
    data = {**scoring, "mode": default_scoring(tasks)} if scoring.get("mode") is None else dict(scoring)
    if isinstance(data["mode"], str):
        known = part_name(data["mode"], ("scoring", "mode"), SCORINGS, "my_scoring.py:score", context)
        data["mode"] = known or data["mode"]
    if isinstance(data.get("metrics"), list):
        data["metrics"] = [_metric(m, i, context) for i, m in enumerate(data["metrics"])]
    if isinstance(data.get("targets"), dict) and not data.get("metrics"):
        _check_targets(data["targets"], context)
    if isinstance(data.get("options", {}), dict):
        data["options"] = _options(data, context)
    return data


def default_scoring(tasks: Sequence[TaskCfg]) -> str:
    """The scoring of a config that names none: the one that its tasks agree on, else `success` where every task defines
    success, else `return`. A suite without a scoring of its own has `success` or `return` by the same rule."""
    from proctor.suites import suite_for

    own: set[str] = set()
    all_define_success = True
    for task in tasks:
        suite = suite_for(task)
        options = validate(suite.Options, task.options, (), Problems(""))
        if options is not None:
            defined = task.success_by == "operator" or suite.defines_success(options)
            own.add(suite.scoring(options) or ("success" if defined else "return"))
            all_define_success = all_define_success and defined
    if len(own) == 1:
        return own.pop()
    return "success" if all_define_success else "return"


def _options(scoring: dict[str, Any], context: Context) -> dict[str, Any]:
    """The options with paths absolute and, for a registered scoring, every default written out."""
    mode, here = scoring["mode"], ("scoring", "options")
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
    for name in targets:
        if name not in METRICS:
            message = f'there is a target for "{name}", which is no metric; `proctor list` shows them all'
            context.problems.add(("scoring", "targets", name), message, did_you_mean(name, METRICS.names()))


def _metric(metric: Any, index: int, context: Context) -> Any:
    where = ("scoring", "metrics", index)
    if not isinstance(metric, str):
        return metric
    if ":" not in metric:
        message = f'found "{metric}"; expected an import string such as my_metrics.py:MyMetric'
        context.problems.add(where, f"{message} (the built-in metrics are always computed)")
    return import_string(metric, where, context)
