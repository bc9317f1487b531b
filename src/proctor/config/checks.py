"""What a config that is valid by itself says of its own agents, tasks and trials: report, scoring and `stop_when`.

The scoring is written out: its name filled in by the tasks, its options complete, its metrics checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proctor.config.models import EvalConfig, ScoringCfg, TaskCfg
from proctor.config.paths import Context, import_string, resolve_options
from proctor.config.problems import Problems, did_you_mean
from proctor.config.validate import part_name, validate
from proctor.errors import InputError
from proctor.registry import FAMILIES, FORMATS, METRICS, SCORINGS, SECTIONS

MAX_PAIRS = 20_000
"""The largest maximum for which the boundary of a comparison is computed."""


def check_report(config: EvalConfig, problems: Problems) -> None:
    """Add a problem for every section and format that nobody brings, and for intervals of nothing."""
    for key, registry in (("sections", SECTIONS), ("formats", FORMATS)):
        known = registry.names()
        for position, name in enumerate(getattr(config.report, key) or ()):
            if name not in known:
                message = f'no {registry.kind} is named "{name}"; expected some of {", ".join(known)}'
                problems.add(("report", key, position), message, did_you_mean(name, known))
    if config.report.intervals == "hierarchical" and not config.report.aggregates:
        message = "hierarchical intervals are those of aggregates, and none is asked for; add aggregates: [mean]"
        problems.add(("report", "intervals"), message)


def check_declared(config: EvalConfig, problems: Problems) -> None:
    """Add a problem where a metric is declared that no registry knows. A config that brings metrics of its own may name
    those, which are not known yet."""
    if config.declare is None or config.scoring.metrics:
        return
    name = config.declare.primary
    families = (FAMILIES.load(family)() for family in FAMILIES.names())
    if name in ("success", "score") or name in METRICS or any(family.describe(name) for family in families):
        return
    message = f'found "{name}"; expected success, score or the name of a metric (`proctor list` shows them all)'
    problems.add(("declare", "primary"), message, did_you_mean(name, ["success", "score", *METRICS.names()]))


def check_scored_tasks(config: EvalConfig, problems: Problems) -> None:
    """What a registered scoring says of the tasks."""
    from proctor.scoring import make_scoring

    try:
        if config.scoring.mode in SCORINGS:
            make_scoring(config.scoring).check_tasks(task.name for task in config.tasks)
    except InputError as error:
        problems.add(("scoring", "options"), str(error))


def resolve_stop(config: EvalConfig, problems: Problems) -> EvalConfig:
    """The config with `stop_when.max_trials` filled in; what cannot be is added to `problems`."""
    rule = config.stop_when
    if rule is None:
        return config
    planned = config.trials_per_agent
    if rule.compare is not None:
        _check_agents(rule.compare, [agent.name for agent in config.agents], problems)
    if rule.max_trials is not None and rule.max_trials > planned:
        problems.add(
            ("stop_when", "max_trials"),
            f"found {rule.max_trials}, but only {planned} trials of each agent are planned over all tasks; raise "
            "n_trials, or leave max_trials out",
        )
    largest = rule.max_trials or planned
    if rule.compare is not None and largest > MAX_PAIRS:
        problems.add(
            ("stop_when", "max_trials"), f"a comparison of up to {largest:,} pairs; expected at most {MAX_PAIRS:,}"
        )
    return config.model_copy(update={"stop_when": rule.model_copy(update={"max_trials": largest})})


def _check_agents(compared: tuple[str, ...], known: list[str], problems: Problems) -> None:
    for position, name in enumerate(compared):
        if name not in known:
            message = f'no agent is named "{name}"; expected some of {", ".join(known)}'
            problems.add(("stop_when", "compare", position), message, did_you_mean(name, known))
    for name in dict.fromkeys(name for name in compared if compared.count(name) > 1):
        problems.add(("stop_when", "compare"), f'"{name}" is compared with itself; name different agents')


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
