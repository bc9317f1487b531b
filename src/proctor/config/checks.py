"""What a config that is valid by itself says of its own agents, tasks and trials: report, scoring and `stop_when`."""

from __future__ import annotations

from proctor.config.models import EvalConfig
from proctor.config.problems import Problems, did_you_mean
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
