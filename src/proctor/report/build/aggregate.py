"""From results to a Report: estimates per agent and task, then the order, the findings, the verdict, and what
the run is held against its declaration by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from proctor.config.models import AgentCfg, EvalConfig, ScoringCfg, TaskCfg
from proctor.errors import InputError
from proctor.metrics import MetricInfo, describe
from proctor.metrics.registry import describe_of_family
from proctor.record.batch import batched
from proctor.record.columns import Trials
from proctor.report import model
from proctor.report.build.estimates import Estimator, case_tables, longest, target_results
from proctor.report.build.findings import find, out_of_range, verdict
from proctor.report.build.rivals import agent_aggregates, compare_agents, grouped_agents, score_profiles, trainings
from proctor.report.build.sample import (
    causes,
    extreme_trials,
    facts,
    filmed,
    filmed_trials,
    sample_of,
    worst_trials,
)
from proctor.report.build.stops import stop_findings
from proctor.report.model import AgentReport, ReportContext
from proctor.report.section import Section, Shown, attempt, sections_of
from proctor.scoring import Scoring, make_scoring
from proctor.scoring.columns import scored_trials
from proctor.verdict.comparison import Comparison
from proctor.verdict.declared import Declared, Facts, held_against
from proctor.verdict.estimand import limits_of_scores
from proctor.verdict.raters import summarised
from proctor_host.result import TrialResult

MARKS_IN_ALL, MARKS_PER_CELL, MARKS_AT_LEAST = 6000, 200, 20
UNLISTED = ("?", "none", "mean", "")
"""Unit, direction, reducer and words of a metric that no registry knows."""


def build_report(cfg: EvalConfig, results: Iterable[TrialResult], context: model.ReportContext) -> model.Report:
    """The report of these results, read once. Agents and tasks are those of the config; a cell without
    results has n = 0."""
    trials = scored_trials(cfg, batched(results), make_scoring(cfg.scoring, context.base), context.initial_states)
    return report_of(cfg, trials, context)


def report_of(cfg: EvalConfig, trials: Trials, context: model.ReportContext) -> model.Report:
    """The report of these trials."""
    scoring = make_scoring(cfg.scoring, context.base)
    infos, trouble = _metric_infos(cfg, context)
    sections, unloaded = sections_of({task.suite for task in cfg.tasks}, trials.measured())
    estimator = Estimator(cfg, context, scoring, infos)
    comparison = compare_agents(trials, cfg, context)
    agents = _ranked([_agent(estimator, trials, agent, sections) for agent in cfg.agents], comparison)
    cells = [sample_of(trials, [(agent.agent, task.name)]) for agent in agents for task in cfg.tasks]
    ranked = [agent.agent for agent in agents]
    seen = {name for agent in agents for name, m in agent.overall.metrics.items() if m.n}
    draft = model.Report(
        name=cfg.name,
        n_trials=cfg.n_trials,
        planned=cfg.trials_per_agent * len(cfg.agents) if context.planned is None else context.planned,
        finished=sum(agent.overall.n_trials + agent.overall.n_repeats + agent.overall.n_after_stop for agent in agents),
        scored=sum(agent.overall.n for agent in agents),
        verdict="",
        findings=(),
        scoring=model.ScoringInfo(
            scoring.name,
            scoring.version,
            scoring.components,
            scoring.floor,
            scoring.unit,
            scoring.settings(),
            limits_of_scores(scoring),
        ),
        agents=agents,
        tasks=tuple(_task(estimator, trials, task) for task in cfg.tasks),
        metrics=tuple(
            infos.get(name) or describe_of_family(name) or MetricInfo(name, *UNLISTED) for name in sorted(seen)
        ),
        causes=causes(trials),
        config=cfg.model_dump(mode="json"),
        context=context,
        targets=target_results(cfg.scoring.targets, agents, infos),
        cases=case_tables(cells, estimator, [s.case_layout for s in sections if s.case_layout is not None]),
        primary=primary_comparison(trials, cfg, infos, context),
        declared=declared_protocol(cfg, agents, context),
        raters=summarised(context.ratings, context.level),
        methods=grouped_agents(cfg, agents, context, limits_of_scores(scoring)),
        aggregates=agent_aggregates(trials, cfg, agents, context),
        comparison=comparison,
        profiles=score_profiles(trials, cfg, ranked, context),
        trainings=trainings([agent.name for agent in cfg.agents]),
        extremes=extreme_trials(trials, ranked),
        filmed=filmed_trials(trials, ranked),
        n_filmed=int(filmed(trials).sum()),
        worst=worst_trials(trials, ranked),
        sections=tuple(Shown(s) for s in sections if cfg.report.sections is None or s.key in cfg.report.sections),
        columns=tuple(column for section in sections for column in section.columns),
        agent_columns=tuple(column for section in sections for column in section.agent_columns),
        signal_units={name: unit for section in sections for name, unit in section.signal_units.items()},
    )
    said, failed = _said(draft, sections)
    cautions = [model.Finding("caution", sentence) for sentence in (*unloaded, *failed)]
    findings = (*said, *find(draft), *_remarks(draft, scoring), *stop_findings(draft), *trouble, *cautions)
    openings = [attempt(section, lambda section=section: section.opening(draft))[0] for section in sections]
    said_first = [*filter(None, openings), verdict(draft), *out_of_range(draft)]
    return replace(draft, verdict=" ".join(said_first), findings=findings)


def _said(draft: model.Report, sections: Sequence[Section]) -> tuple[list[model.Finding], list[str]]:
    """What the sections find, and a sentence for each that failed at it."""
    found: list[model.Finding] = []
    failed = []
    for section in sections:
        said, problem = attempt(section, lambda section=section: list(section.findings(draft)))
        found += said or []
        if problem is not None:
            failed.append(f'The report section "{section.key}" failed to say what it finds: {problem}.')
    return found, failed


def _agent(estimator: Estimator, trials: Trials, agent: AgentCfg, sections: Sequence[Section]) -> model.AgentReport:
    pairs = [(agent.name, task.name) for task in estimator.cfg.tasks]
    cells = tuple(_cell(estimator, trials, pair) for pair in pairs)
    return model.AgentReport(
        agent=agent.name,
        policy=agent.policy,
        checkpoint=agent.checkpoint,
        rank=None,
        overall=cells[0].summary if len(cells) == 1 else estimator.summary(sample_of(trials, pairs)),
        cells=cells,
        texts={
            column.name: attempt(section, lambda of=column.of_agent: of(estimator.cfg, agent))[0]
            for section in sections
            for column in (*section.columns, *section.agent_columns)
            if column.of_agent is not None
        },
    )


def _cell(estimator: Estimator, trials: Trials, pair: tuple[str, str]) -> model.Cell:
    own = sample_of(trials, [pair])
    most = min(MARKS_PER_CELL, max(MARKS_AT_LEAST, MARKS_IN_ALL // len(trials.pairs)))
    marks = tuple(model.Mark(**facts(trials, row)) for row in own.kept[:most].tolist())
    return model.Cell(*pair, estimator.summary(own), marks)


def _ranked(agents: Sequence[model.AgentReport], comparison: Comparison | None) -> tuple[model.AgentReport, ...]:
    """In the order and with the ranks of the comparison; without one, by score."""
    if comparison is not None:
        by_name = {agent.agent: agent for agent in agents}
        return tuple(replace(by_name[standing.agent], rank=standing.rank) for standing in comparison.agents)

    def order(agent: model.AgentReport) -> tuple[bool, float, float]:
        score, rate = agent.overall.score.mean, agent.overall.success.rate
        return (score is None, -(score or 0.0), -1.0 if rate is None else -rate)

    means = [mean for agent in agents if (mean := agent.overall.score.mean) is not None]
    return tuple(
        replace(agent, rank=None if own is None else 1 + sum(mean > own for mean in means))
        for agent in sorted(agents, key=order)
        for own in (agent.overall.score.mean,)
    )


def _task(estimator: Estimator, trials: Trials, task: TaskCfg) -> model.TaskReport:
    own = sample_of(trials, [(agent.name, task.name) for agent in estimator.cfg.agents])
    return model.TaskReport(
        task=task.name,
        suite=task.suite,
        success_rule=task.success_rule,
        max_steps=longest(trials["max_steps"][own.kept]),
        n_trials=len(own.kept),
        n=len(own.scored),
        success=estimator.success(own),
        defines_success=task.name not in trials.without_success,
    )


def _remarks(draft: model.Report, scoring: Scoring) -> list[model.Finding]:
    """What the scoring itself has to say, of the metrics that each task has."""
    recorded: dict[str, dict[str, None]] = {task.task: {} for task in draft.tasks}
    for agent in draft.agents:
        for cell in agent.cells:
            recorded[cell.task].update(dict.fromkeys(cell.summary.metrics))
    remarks = scoring.remarks({task: list(names) for task, names in recorded.items()})
    return [model.Finding(*remark) for remark in remarks]


def _metric_infos(cfg: EvalConfig, context: model.ReportContext) -> tuple[dict[str, MetricInfo], list[model.Finding]]:
    """Units and reducers by name. A metric of the config that cannot be imported here keeps its recorded
    values."""
    try:
        return {info.name: info for info in describe(cfg.scoring.metrics, context.base)}, []
    except InputError as error:
        text = f"Units of the config's own metrics are unknown here, their recorded values are kept: {error}."
        return {info.name: info for info in describe()}, [model.Finding("note", text)]


def declared_protocol(cfg: EvalConfig, agents: Sequence[AgentReport], context: ReportContext) -> Declared | None:
    """The declaration of the config with the deviations of this run; None without one."""
    if cfg.declare is None:
        return None
    finished = sum(agent.overall.n_trials + agent.overall.n_after_stop for agent in agents)
    facts = Facts(
        level=context.level,
        by="score" if any(agent.overall.score.mean is not None for agent in agents) else "success",
        cells=[(c.agent, c.task, c.summary.n_trials, c.summary.n_unscored) for a in agents for c in a.cells],
        missing=finished + context.spared < cfg.trials_per_agent * len(cfg.agents),
        measured=any(agent.overall.measure(cfg.declare.primary).value is not None for agent in agents),
    )
    return held_against(cfg, facts, context.protocols)


def primary_comparison(
    trials: Trials, cfg: EvalConfig, infos: Mapping[str, MetricInfo], context: ReportContext
) -> Comparison | None:
    """The agents compared by the mean of the metric that was declared to decide, in the place of the score; None where
    success or score decide, and for a metric that is not reduced to a mean or that trials lack."""
    primary = None if cfg.declare is None else cfg.declare.primary
    if primary is None or primary in ("success", "score") or primary not in trials.metrics:
        return None
    if primary in infos and infos[primary].reducer not in ("mean", "rate"):
        return None
    by_metric = replace(trials, columns={**trials.columns, "score": trials.metrics[primary]})
    found = compare_agents(by_metric, cfg.model_copy(update={"scoring": ScoringCfg(mode="return")}), context)
    return found if found is not None and found.by == "score" else None
