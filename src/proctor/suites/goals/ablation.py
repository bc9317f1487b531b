"""What a prior costs: one policy, with goals of each prior and with the success visuals, on equal seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proctor.config.models import AgentCfg, EvalConfig, RecordCfg
from proctor.policies import options_for
from proctor.record.rundir import RunDir
from proctor.report.model import RateEstimate
from proctor.stats import wilson
from proctor.suites.goals.config import VISUAL, AblationCfg, GoalsCfg
from proctor.suites.goals.report.model import Dimension, Reading, absent
from proctor.suites.goals.visuals import Visuals
from proctor.verdict.comparison import AgentTrials, JudgeCfg
from proctor.verdict.comparison.pairs import compare_pair
from proctor.verdict.trials import read_agents

NO_ABLATION = "no ablation was run: the config names no policy under goals.ablation"


def ablation_config(cfg: EvalConfig, goals: GoalsCfg, tasks: Sequence[str]) -> EvalConfig:
    """The examination that the ablation is: an agent for the visual goals, one for each prior, on the tasks that have
    success visuals."""
    assert goals.ablation is not None
    agents = [_agent(VISUAL, goals.ablation, goals, {"source": "visual"})]
    for prior in goals.evaluated:
        model = {"goals": prior.model_cfg.model_dump(mode="json"), "source": "prior"}
        agents.append(_agent(prior.name, goals.ablation, goals, model))
    update = {
        "agents": tuple(agents),
        "tasks": tuple(
            task.model_copy(update={"n_trials": goals.ablation.n_trials, "seeds": None})
            for task in cfg.tasks
            if task.name in tasks
        ),
        "n_trials": goals.ablation.n_trials,
        "base_seed": goals.ablation.base_seed,
        "seeds": None,
        "record": RecordCfg(level="series"),
    }
    return cfg.model_copy(update=update)


def _agent(name: str, ablation: AblationCfg, goals: GoalsCfg, source: dict[str, object]) -> AgentCfg:
    options = {
        "target": ablation.target,
        "kwargs": ablation.kwargs,
        "visuals_folder": goals.visuals_folder,
        "instructions": goals.instructions,
        **source,
    }
    agent = AgentCfg(
        name=name, policy="goal", checkpoint=ablation.checkpoint_file, device=ablation.device, options=options
    )
    return agent.model_copy(update={"options": options_for(agent).model_dump(mode="json")})


@dataclass(frozen=True)
class Ablation:
    """What the trials came to. `gaps` by prior; `rates` by agent, then by task, and under "" over all."""

    gaps: Mapping[str, Dimension]
    rates: Mapping[str, Mapping[str, RateEstimate]]


def read_ablation(run: RunDir, goals: GoalsCfg, tasks: Sequence[str]) -> Ablation:
    """From the ledger of a run. `tasks` are all tasks of the evaluation; those that were not run have no visuals."""
    cfg = run.config()
    ran = [task.name for task in cfg.tasks]
    with run.ledger() as ledger:
        agents = {agent.name: agent for agent in read_agents(ledger, cfg, ran)}
    judging = JudgeCfg(goals.level, seed=goals.seed)
    gaps = {prior.name: _gap(agents[VISUAL], agents[prior.name], judging, tasks) for prior in goals.evaluated}
    return Ablation(gaps, {name: _rates(agent, goals.level) for name, agent in agents.items()})


def _gap(visual: AgentTrials, prior: AgentTrials, judging: JudgeCfg, tasks: Sequence[str]) -> Dimension:
    """Success with visual goals minus success with the prior's. n counts pairs of trials with one seed."""
    if not visual.n or not prior.n:
        return Dimension("quality_gap", absent("no trial of the ablation was scored"), "pairs")
    pair = compare_pair(visual, prior, judging)
    found = pair.success
    by_task: dict[str, Reading] = {
        task: absent("the task has no success visuals, so there is no goal to compare with") for task in tasks
    }
    by_task |= {task: absent("no pair of trials was scored") for task in visual.tasks}
    for own in pair.tasks:
        by_task[own.task] = Reading(own.success, own.n, no_interval="pairs of one task are shown as they are")
    missing = found.reason if found.value is None else None
    overall = Reading(found.value, pair.n_a, found.interval, found.reason, missing)
    most = visual.successes / visual.n
    return Dimension("quality_gap", overall, "pairs", found.method, by_task=by_task, most=most)


def _rates(agent: AgentTrials, level: float) -> dict[str, RateEstimate]:
    def rate(won: int, n: int) -> RateEstimate:
        return RateEstimate(won, n, won / n if n else None, wilson(won, n, level), None)

    own = {task: rate(int(trials.success.sum()), trials.n) for task, trials in agent.tasks.items()}
    return {"": rate(agent.successes, agent.n), **own}


def shared_seeds(visuals: Visuals, ablation: AblationCfg) -> int:
    """How many success visuals come from seeds that the ablation runs again: goals that were seen are no test."""
    seeds = range(ablation.base_seed, ablation.base_seed + ablation.n_trials)
    return sum(int(seed) in seeds for own in visuals.tasks.values() for seed in own.by_trial.seed)
