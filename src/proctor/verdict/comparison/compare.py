"""Comparing the agents of run folders: they must have been examined alike, and are then judged pair by pair."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from proctor.errors import InputError
from proctor.scoring import make_scoring
from proctor.verdict import protocol
from proctor.verdict.comparison.cautions import about_levels, about_raters, cautions_of
from proctor.verdict.comparison.judge import MOST_AGENTS, judge
from proctor.verdict.comparison.model import Comparison
from proctor.verdict.estimand import JudgeCfg, Weights, judging_of
from proctor.verdict.protocol import Examined, Paths
from proctor.verdict.trials import AgentTrials, read_agents


@dataclass(frozen=True, eq=False)
class Compared:
    """What came of comparing runs. `origin`: name of an agent here -> (number of its run, its name there), in the order
    given; `cautions` are to be read before the numbers."""

    runs: tuple[Examined, ...]
    origin: dict[str, tuple[int, str]]
    agents: tuple[AgentTrials, ...]
    comparison: Comparison
    cautions: tuple[str, ...]
    judging: JudgeCfg
    left_out: tuple[str, ...] = ()
    """Tasks of the first run that another one does not have."""

    def agent(self, name: str) -> AgentTrials:
        """The agent that is called so here. Raises InputError where there is none, or it has no scored trial."""
        found = next((agent for agent in self.agents if agent.name == name), None)
        if found is None:
            raise InputError(f'no agent "{name}"; expected one of {", ".join(self.origin)}')
        if not found.n:
            raise InputError(f"{name} has no scored trial; there is nothing to decide by")
        return found


def compare(
    paths: Paths,
    level: float = 0.95,
    *,
    across: bool = False,
    weights: Weights | None = None,
    trust: bool = False,
) -> Compared:
    """Compare the agents of one run, or of several, which may be given by names of their own. Raises InputError where
    there is nothing to compare, and for runs with different protocols, saying what differs, unless `across`: they are
    then compared without pairing them. `weights`: how tasks are weighed; None: as the first run has it. `trust`: code
    that the runs are scored with may be imported, whoever wrote it."""
    runs = protocol.examine(paths, level, trust=trust)
    tasks = protocol.common_tasks(runs)
    if not tasks:
        own = [f"{run.label}: {', '.join(task.name for task in run.cfg.tasks)}" for run in runs]
        raise InputError("the runs have no task in common: " + "; ".join(own))
    unlike = (protocol.unlike_tasks, protocol.unlike_scoring)
    rules, scoring = (protocol.differences_among(runs, differ) for differ in unlike)
    if (rules or scoring) and not across:
        raise protocol.refused(
            "these runs examined their agents by different protocols",
            [*rules, *scoring],
            ", or compare across protocols, without pairs: --across-protocols (from Python, across=True)",
        )
    by_seed = protocol.paired_by_seed(runs)
    named, origin = _named([_agents(run, tasks, by_seed) for run in runs], runs)
    agents = [_prepared(agent, pairs=not rules, scores=not scoring) for agent in named]
    if sum(agent.n > 0 for agent in agents) < 2:
        counts = ", ".join(f"{agent.name} {agent.n}" for agent in agents)
        raise InputError(f"a comparison needs two agents with scored trials on the same tasks; found {counts}")
    if len(agents) > MOST_AGENTS:
        raise InputError(f"{len(agents)} agents; at most {MOST_AGENTS} are compared with each other")
    judging = judging_of(runs[0].cfg, make_scoring(runs[0].cfg.scoring), level, any(run.looks for run in runs))
    judging = judging if weights is None else replace(judging, weights=weights)
    found = judge(agents, judging)
    left = sorted({task.name for run in runs for task in run.cfg.tasks} - set(tasks))
    about_tasks = [f"Not every run has these tasks, and they are left out: {', '.join(left)}."] if left else []
    cautions = (*_about_protocols(runs, rules, scoring), *about_tasks, *cautions_of(found))
    cautions += (*about_raters(runs, origin), *about_levels(runs, level))
    unproven = [task.name for task in runs[0].cfg.tasks if task.name in left]
    return Compared(tuple(runs), origin, tuple(agents), found, cautions, judging, tuple(unproven))


def _agents(run: Examined, tasks: Sequence[str], by_seed: Collection[str]) -> list[AgentTrials]:
    with run.run.ledger() as ledger:
        return read_agents(ledger, run.cfg, tasks, by_seed)


def _named(
    found: Sequence[Sequence[AgentTrials]], runs: Sequence[Examined]
) -> tuple[list[AgentTrials], dict[str, tuple[int, str]]]:
    """Agents under names of their own: `run:agent` where several runs have one of that name."""
    names = protocol.names_apart([[agent.name for agent in agents] for agents in found], [run.label for run in runs])
    agents, origin = [], {}
    for number, (of_run, named) in enumerate(zip(found, names, strict=True)):
        agents += [replace(agent, name=name) for agent, name in zip(of_run, named, strict=True)]
        origin |= {name: (number, agent.name) for agent, name in zip(of_run, named, strict=True)}
    return agents, origin


def _prepared(agent: AgentTrials, *, pairs: bool, scores: bool) -> AgentTrials:
    """Without pairs where trials went by different rules, without scores where these did."""
    tasks = agent.tasks
    if not scores:
        tasks = {name: replace(t, score=np.full(t.n, np.nan)) for name, t in tasks.items()}
    return replace(agent, tasks=tasks, unpaired=None if pairs else "protocols differ")


def _about_protocols(runs: Sequence[Examined], rules: Sequence[str], scoring: Sequence[str]) -> list[str]:
    said = []
    if rules or scoring:
        said.append(f"Protocols differ, so a difference may be theirs: {'; '.join([*rules, *scoring])}.")
    if scoring:
        said.append("Scorings differ: scores are not compared, success only.")
    versions = protocol.differences_among(runs, protocol.unlike_versions)
    said += [f"Versions differ: {found}; a difference may be theirs." for found in versions]
    runtimes = protocol.differences_among(runs, protocol.unlike_runtimes)
    said += [f"Runtimes differ: {found}; a difference may be theirs." for found in runtimes]
    return [*said, *protocol.about_stopping(runs)]
