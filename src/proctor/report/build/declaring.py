"""What a run is held against its declaration by, and its agents compared by a metric that was declared to decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from proctor.config.models import EvalConfig, ScoringCfg
from proctor.metrics import MetricInfo
from proctor.record.columns import Trials
from proctor.report.build.rivals import compare_agents
from proctor.report.model import AgentReport, ReportContext
from proctor.verdict.comparison import Comparison
from proctor.verdict.declared import Declared, Facts, held_against


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
