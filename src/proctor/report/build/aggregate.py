"""From results to a Report: rates, means and intervals per agent and task, then the order, the findings, the
verdict."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from proctor.config.models import AgentCfg, EvalConfig, TaskCfg
from proctor.errors import InputError
from proctor.metrics import MetricInfo, describe
from proctor.metrics.registry import describe_of_family
from proctor.record.batch import batched
from proctor.record.result import TrialResult
from proctor.report import model
from proctor.report.build.accumulate import CellColumns, Columns
from proctor.report.build.cases import case_tables
from proctor.report.build.extremes import extreme_trials
from proctor.report.build.findings import find, verdict
from proctor.report.build.rivals import compare_agents, score_profiles, trainings
from proctor.report.build.stops import stop_findings
from proctor.report.build.targets import target_results
from proctor.report.section import Section, Shown, attempt, sections_of
from proctor.scoring import Scoring, make_scoring
from proctor.stats import Interval, bootstrap_mean, rate_bounds, student_t, wilson

BOOTSTRAP_STREAM = 2


@dataclass(frozen=True)
class _Estimator:
    """What turns columns into estimates. The bootstrap's generator depends on seed and tasks only, so equal
    agents get equal intervals, and an agent's interval does not change when another one joins the run."""

    cfg: EvalConfig
    context: model.ReportContext
    scoring: Scoring
    metrics: dict[str, MetricInfo]

    def summary(self, cells: Sequence[CellColumns]) -> model.Summary:
        names = list(dict.fromkeys(name for cell in cells for name in sorted(cell.metrics)))
        return model.Summary(
            planned=sum(self.cfg.trials_of(self.cfg.task(cell.task)) for cell in cells),
            n_trials=sum(cell.n_trials for cell in cells),
            n=sum(cell.n for cell in cells),
            success=self.success(cells),
            score=self.score(cells),
            components={name: self._mean(_pool(cells, "components", name)) for name in self._components(cells)},
            steps_total=_not_below_zero(self._mean(_pool(cells, "steps_total"))),
            steps_to_success=_not_below_zero(self._mean(_pool(cells, "steps_to_success"))),
            wall_time_s=_not_below_zero(self._mean(_pool(cells, "wall_time_s"))),
            metrics={name: self.metric(name, _pool(cells, "metrics", name)) for name in names},
            outcomes=dict(sorted(sum((cell.outcomes for cell in cells), Counter()).items())),
            clipped_steps=sum(cell.clipped_steps for cell in cells),
            clipped_trials=sum(cell.clipped_trials for cell in cells),
            retried_trials=sum(cell.retried_trials for cell in cells),
            n_recorded=sum(len(cell.traces) for cell in cells),
            n_distinct=sum(len(np.unique(np.asarray(cell.traces))) for cell in cells),
            n_after_stop=sum(cell.after_stop for cell in cells),
        )

    def success(self, cells: Sequence[CellColumns]) -> model.RateEstimate:
        successes, n = sum(cell.successes for cell in cells), sum(cell.n for cell in cells)
        unscored = sum(cell.n_trials for cell in cells) - n
        return model.RateEstimate(
            successes=successes,
            n=n,
            rate=successes / n if n else None,
            interval=wilson(successes, n, self.context.level),
            bounds=rate_bounds(successes, n, unscored) if unscored else None,
        )

    def score(self, cells: Sequence[CellColumns]) -> model.MeanEstimate:
        """Bootstrap, stratified by task; Wilson's interval where every score is 0 or every score is 1, of which a
        bootstrap knows nothing. One scored trial without a score leaves no mean: a mean of the others would be of
        another sample."""
        strata = [np.asarray(cell.score) for cell in cells]
        rng = self._rng([cell.task for cell in cells])
        found = bootstrap_mean(strata, self.context.level, self.context.n_resamples, rng)
        if found.degenerate and found.mean in (0.0, 1.0):
            return self._mean(np.concatenate(strata))
        return model.MeanEstimate(
            mean=found.mean,
            n=found.n,
            std=_std(np.concatenate(strata)) if found.mean is not None else None,
            interval=found.interval,
            n_missing=found.n_missing,
            degenerate=found.degenerate,
            method="bca_expansion" if found.expanded else "bootstrap",
        )

    def _components(self, cells: Sequence[CellColumns]) -> list[str]:
        return list(dict.fromkeys([*self.scoring.components, *(n for c in cells for n in sorted(c.components))]))

    def _rng(self, tasks: Sequence[str]) -> np.random.Generator:
        words = hashlib.blake2b("\0".join(tasks).encode(), digest_size=8).digest()
        key = (BOOTSTRAP_STREAM, int.from_bytes(words[:4], "big"), int.from_bytes(words[4:], "big"))
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.cfg.base_seed, spawn_key=key)))

    def _mean(self, values: np.ndarray) -> model.MeanEstimate:
        """Mean of the values there are, with Student's interval; with Wilson's where all are 0 or 1."""
        known = values[np.isfinite(values)]
        if not known.size:
            return model.MeanEstimate(None, 0, n_missing=values.size)
        binary = bool(np.isin(known, (0.0, 1.0)).all())
        return model.MeanEstimate(
            mean=float(known.mean()),
            n=known.size,
            std=_std(known),
            interval=self._rate_interval(known) if binary else student_t(known, self.context.level),
            n_missing=values.size - known.size,
            degenerate=bool(not binary and known.size > 1 and np.ptp(known) == 0),
            method="wilson" if binary else "student_t",
        )

    def _rate_interval(self, values: np.ndarray) -> Interval | None:
        return wilson(int((values != 0).sum()), len(values), self.context.level)

    def metric(self, name: str, values: np.ndarray) -> model.MetricEstimate:
        """By the metric's own reducer; the mean of what is no metric."""
        known = values[np.isfinite(values)]
        if not known.size:
            return model.MetricEstimate(None, 0)
        reducer = self.metrics[name].reducer if name in self.metrics else "mean"
        if reducer in ("mean", "rate"):
            interval = self._rate_interval(known) if reducer == "rate" else student_t(known, self.context.level)
            return model.MetricEstimate(float(known.mean()), known.size, interval)
        reduce = {"max": np.max, "min": np.min, "median": np.median}[reducer]
        return model.MetricEstimate(float(reduce(known)), known.size)


def _not_below_zero(estimate: model.MeanEstimate) -> model.MeanEstimate:
    """For what is counted or timed: Student's interval of a few values may reach below zero, the mean cannot."""
    if estimate.interval is None or estimate.interval.low >= 0:
        return estimate
    return replace(estimate, interval=Interval(0.0, estimate.interval.high))


def build_report(cfg: EvalConfig, results: Iterable[TrialResult], context: model.ReportContext) -> model.Report:
    """The report of these results, read once. Agents and tasks are those of the config; a cell without
    results has n = 0."""
    return report_of(cfg, Columns(cfg, batched(results), make_scoring(cfg.scoring, context.base)), context)


def report_of(cfg: EvalConfig, columns: Columns, context: model.ReportContext) -> model.Report:
    """The report of these columns."""
    scoring = make_scoring(cfg.scoring, context.base)
    infos, trouble = _metric_infos(cfg, context)
    sections, unloaded = sections_of({task.suite for task in cfg.tasks}, columns.trials.measured())
    estimator = _Estimator(cfg, context, scoring, infos)
    agents = _ranked([_agent(estimator, columns, agent, sections) for agent in cfg.agents])
    cells = [columns.cells[agent.agent, task.name] for agent in agents for task in cfg.tasks]
    seen = {name for agent in agents for name, m in agent.overall.metrics.items() if m.n}
    draft = model.Report(
        name=cfg.name,
        n_trials=cfg.n_trials,
        planned=_planned(cfg, context),
        finished=sum(agent.overall.n_trials + agent.overall.n_after_stop for agent in agents),
        scored=sum(agent.overall.n for agent in agents),
        verdict="",
        findings=(),
        scoring=_scoring_info(scoring),
        agents=agents,
        tasks=tuple(_task(estimator, columns, task) for task in cfg.tasks),
        metrics=tuple(infos.get(name) or _unlisted(name) for name in sorted(seen)),
        causes=columns.causes(),
        config=cfg.model_dump(mode="json"),
        context=context,
        targets=target_results(cfg.scoring.targets, agents, infos),
        cases=case_tables(cells, estimator, [s.case_layout for s in sections if s.case_layout is not None]),
        comparison=compare_agents(columns, cfg, context),
        profiles=score_profiles(columns, cfg, [agent.agent for agent in agents], context),
        trainings=trainings([agent.name for agent in cfg.agents]),
        extremes=extreme_trials(columns, [agent.agent for agent in agents]),
        sections=tuple(Shown(s) for s in sections if cfg.report.sections is None or s.key in cfg.report.sections),
        columns=tuple(column for section in sections for column in section.columns),
        agent_columns=tuple(column for section in sections for column in section.agent_columns),
    )
    said, failed = _said(draft, sections)
    words = [*unloaded, *failed]
    findings = (
        *said,
        *find(draft),
        *_remarks(draft, scoring),
        *stop_findings(draft),
        *trouble,
        *(model.Finding("caution", sentence) for sentence in words),
    )
    return replace(draft, verdict=_opening(draft, sections) + verdict(draft), findings=findings)


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


def _opening(draft: model.Report, sections: Sequence[Section]) -> str:
    """The sentences that sections open the verdict with, each with a blank behind it."""
    said = [attempt(section, lambda section=section: section.opening(draft))[0] for section in sections]
    return "".join(f"{sentence} " for sentence in said if sentence)


def _planned(cfg: EvalConfig, context: model.ReportContext) -> int:
    whole = cfg.trials_per_agent * len(cfg.agents)
    return whole if context.planned is None else context.planned


def _agent(estimator: _Estimator, columns: Columns, agent: AgentCfg, sections: Sequence[Section]) -> model.AgentReport:
    own = [columns.cells[agent.name, task.name] for task in estimator.cfg.tasks]
    cells = tuple(model.Cell(c.agent, c.task, estimator.summary([c]), tuple(c.marks)) for c in own)
    return model.AgentReport(
        agent=agent.name,
        policy=agent.policy,
        checkpoint=agent.checkpoint,
        rank=None,
        overall=cells[0].summary if len(cells) == 1 else estimator.summary(own),
        cells=cells,
        texts={
            column.name: attempt(section, lambda of=column.of_agent: of(estimator.cfg, agent))[0]
            for section in sections
            for column in (*section.columns, *section.agent_columns)
            if column.of_agent is not None
        },
    )


def _ranked(agents: Sequence[model.AgentReport]) -> tuple[model.AgentReport, ...]:
    def order(agent: model.AgentReport) -> tuple[bool, float, float]:
        score, rate = agent.overall.score.mean, agent.overall.success.rate
        return (score is None, -(score or 0.0), -1.0 if rate is None else -rate)

    means = [a.overall.score.mean for a in agents]
    ranked = []
    for agent in sorted(agents, key=order):
        own = agent.overall.score.mean
        rank = None if own is None else 1 + sum(m is not None and m > own for m in means)
        ranked.append(replace(agent, rank=rank))
    return tuple(ranked)


def _task(estimator: _Estimator, columns: Columns, task: TaskCfg) -> model.TaskReport:
    cells = [columns.cells[agent.name, task.name] for agent in estimator.cfg.agents]
    return model.TaskReport(
        task=task.name,
        suite=task.suite,
        success_rule=task.success_rule,
        max_steps=max((c.max_steps for c in cells if c.max_steps is not None), default=None),
        n_trials=sum(cell.n_trials for cell in cells),
        n=sum(cell.n for cell in cells),
        success=estimator.success(cells),
    )


def _scoring_info(scoring: Scoring) -> model.ScoringInfo:
    return model.ScoringInfo(
        name=scoring.name,
        version=scoring.version,
        components=scoring.components,
        floor=scoring.floor,
        unit=scoring.unit,
        settings=scoring.settings(),
    )


def _remarks(draft: model.Report, scoring: Scoring) -> list[model.Finding]:
    """What the scoring itself has to say, of the metrics that each task has."""
    recorded: dict[str, dict[str, None]] = {task.task: {} for task in draft.tasks}
    for agent in draft.agents:
        for cell in agent.cells:
            recorded[cell.task].update(dict.fromkeys(cell.summary.metrics))
    return [
        model.Finding(*remark) for remark in scoring.remarks({task: list(names) for task, names in recorded.items()})
    ]


def _metric_infos(cfg: EvalConfig, context: model.ReportContext) -> tuple[dict[str, MetricInfo], list[model.Finding]]:
    """Units and reducers by name. A metric of the config that cannot be imported here keeps its recorded
    values."""
    try:
        return {info.name: info for info in describe(cfg.scoring.metrics, context.base)}, []
    except InputError as error:
        text = f"Units of the config's own metrics are unknown here, their recorded values are kept: {error}."
        return {info.name: info for info in describe()}, [model.Finding("note", text)]


def _unlisted(name: str) -> MetricInfo:
    """A metric that no registry knows: a reward term, or one of a config that is not here."""
    return describe_of_family(name) or MetricInfo(name, "?", "none", "mean", "")


def _pool(cells: Sequence[CellColumns], group: str, name: str | None = None) -> np.ndarray:
    """One column over cells, NaN where a cell does not have it."""
    parts = []
    for cell in cells:
        column = getattr(cell, group) if name is None else getattr(cell, group).get(name)
        parts.append(np.full(cell.n, math.nan) if column is None else np.asarray(column))
    return np.concatenate(parts)


def _std(values: np.ndarray) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None
