"""What the config's `report.aggregates` make of each agent's scores over all tasks, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from proctor.config.models import AggregateName, EvalConfig, ReportCfg
from proctor.record.columns import Trials
from proctor.report.build.sample import sample_of
from proctor.report.model import AgentAggregate, AgentReport, ReportContext
from proctor.stats import IQM, MEAN, MEDIAN, TRIAL_MEDIAN, Aggregate, Estimate, Resampling, bootstrap, optimality_gap

AGGREGATES: dict[AggregateName, Aggregate] = {"mean": MEAN, "iqm": IQM, "median": MEDIAN, "trial_median": TRIAL_MEDIAN}


def aggregate_of(name: AggregateName, cfg: ReportCfg) -> Aggregate:
    """The aggregate that a config means by this name."""
    return optimality_gap(cfg.target) if name == "optimality_gap" else AGGREGATES[name]


def agent_aggregates(
    trials: Trials, cfg: EvalConfig, agents: Sequence[AgentReport], context: ReportContext
) -> tuple[AgentAggregate, ...]:
    """Agent by agent, in their order; none where the config asks for none. Resamples depend on the run's seed alone, so
    an agent's interval does not change when another one joins the run."""
    resampling = Resampling(context.n_resamples, cfg.base_seed, cfg.report.intervals)
    found = []
    for agent in agents:
        own = sample_of(trials, [(agent.agent, task.name) for task in cfg.tasks])
        scores = [trials["score"][rows] for rows in own.strata]
        for name in dict.fromkeys(cfg.report.aggregates):
            made = bootstrap(scores, aggregate_of(name, cfg.report), context.level, resampling)
            as_ranked = name == "mean" and not resampling.tasks_too
            found.append(AgentAggregate(agent.agent, name, _ranking_mean(agent, made) if as_ranked else made))
    return tuple(found)


def _ranking_mean(agent: AgentReport, made: Estimate) -> Estimate:
    """The mean and interval that the ranking shows: a report has one of each."""
    score = agent.overall.score
    return replace(made, value=score.mean, interval=score.interval, reason=None if score.interval else made.reason)
