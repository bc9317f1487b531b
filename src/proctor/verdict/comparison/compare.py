"""Comparing the agents of run folders: they must have been examined alike, and are then judged pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from proctor.errors import InputError
from proctor.record.rundir import RunDir
from proctor.verdict.comparison.judge import judge
from proctor.verdict.comparison.model import Comparison
from proctor.verdict.comparison.pairs import Settings
from proctor.verdict.protocol import (
    Examined,
    about_stopping,
    common_tasks,
    examine,
    names_apart,
    unlike_scoring,
    unlike_tasks,
    unlike_versions,
)
from proctor.verdict.trials import AgentTrials, read_agents


@dataclass(frozen=True)
class CompareOptions:
    """`across`: compare runs whose protocols differ, without pairing them. `level` is that of every interval."""

    level: float = 0.95
    n_resamples: int = 2000
    across: bool = False


@dataclass(frozen=True, eq=False)
class Compared:
    """What came of comparing runs. `origin`: name of an agent here -> (number of its run, its name there), in the order
    given; `cautions` are to be read before the numbers."""

    runs: tuple[Examined, ...]
    origin: dict[str, tuple[int, str]]
    agents: tuple[AgentTrials, ...]
    comparison: Comparison
    cautions: tuple[str, ...]
    settings: Settings


def compare(paths: Sequence[str | Path], options: CompareOptions = CompareOptions()) -> Compared:  # noqa: B008 - frozen
    """Compare the agents of one run, or of several. Raises InputError where there is nothing to compare, and for runs
    with different protocols, saying what differs."""
    if not 0 < options.level < 1:
        raise InputError(f"a level of {options.level:g}; it lies between 0 and 1, 0.95 for instance")
    runs = [RunDir.open(path) for path in paths]
    examined = examine(runs)
    tasks = common_tasks(examined)
    if not tasks:
        raise InputError("the runs have no task in common: " + "; ".join(f"{e.label}: {_tasks(e)}" for e in examined))
    unlike, cautions = _check_protocols(examined, options.across)
    named, origin = _named([_agents(run, e, tasks) for run, e in zip(runs, examined, strict=True)], examined)
    agents = [_prepared(agent, unlike) for agent in named]
    if sum(agent.n > 0 for agent in agents) < 2:
        counts = ", ".join(f"{agent.name} {agent.n}" for agent in agents)
        raise InputError(f"a comparison needs two agents with scored trials on the same tasks; found {counts}")
    settings = Settings(options.level, options.n_resamples, examined[0].cfg.base_seed)
    found = judge(agents, settings)
    cautions += [*about_stopping(examined), *_about_tasks(examined, tasks), *_about_pairs(found)]
    return Compared(tuple(examined), origin, tuple(agents), found, tuple(cautions), settings)


def _agents(run: RunDir, examined: Examined, tasks: Sequence[str]) -> list[AgentTrials]:
    with run.ledger() as ledger:
        return read_agents(ledger, examined.cfg, tasks)


def _named(
    found: Sequence[Sequence[AgentTrials]], runs: Sequence[Examined]
) -> tuple[list[AgentTrials], dict[str, tuple[int, str]]]:
    """Agents under names of their own: `run:agent` where several runs have one of that name."""
    names = names_apart([[agent.name for agent in agents] for agents in found], [run.label for run in runs])
    agents, origin = [], {}
    for number, (of_run, named) in enumerate(zip(found, names, strict=True)):
        agents += [replace(agent, name=name) for agent, name in zip(of_run, named, strict=True)]
        origin |= {name: (number, agent.name) for agent, name in zip(of_run, named, strict=True)}
    return agents, origin


def _check_protocols(runs: Sequence[Examined], across: bool) -> tuple[dict[str, bool], list[str]]:
    """{"tasks": whether trials went by different rules, "scoring": whether scores did}, and cautions. Raises where
    they do, unless `across`."""
    unlike, refused, cautions = {"tasks": False, "scoring": False}, [], []
    for other in runs[1:]:
        tasks, scoring = unlike_tasks(runs[0], other), unlike_scoring(runs[0], other)
        unlike = {"tasks": unlike["tasks"] or bool(tasks), "scoring": unlike["scoring"] or bool(scoring)}
        refused += [f"{d} ({runs[0].label}, {other.label})" for d in (*tasks, *scoring)]
        cautions += [
            f"Versions differ: {d} ({runs[0].label}, {other.label}); a difference may be theirs."
            for d in unlike_versions(runs[0], other)
        ]
    if refused and not across:
        raise InputError(
            "these runs examined their agents by different protocols; they differ in\n  "
            + "\n  ".join(refused)
            + "\nRun one of them again with the other's settings (for scoring, `proctor score RUN --set "
            "scoring.KEY=VALUE` is enough), or compare across protocols, without pairs: --across-protocols"
        )
    if refused:
        cautions.insert(0, f"Protocols differ, so a difference may be theirs: {'; '.join(refused)}.")
    if unlike["scoring"]:
        cautions.insert(1, "Scorings differ: scores are not compared, success only.")
    return unlike, cautions


def _prepared(agent: AgentTrials, unlike: dict[str, bool]) -> AgentTrials:
    """Without pairs where trials went by different rules, without scores where these did."""
    agent = replace(agent, pairs=False) if unlike["tasks"] else agent
    if not unlike["scoring"]:
        return agent
    blank = {name: replace(t, score=np.full(t.n, np.nan)) for name, t in agent.tasks.items()}
    return replace(agent, tasks=blank)


def _tasks(run: Examined) -> str:
    return ", ".join(task.name for task in run.cfg.tasks)


def _about_tasks(runs: Sequence[Examined], tasks: Sequence[str]) -> list[str]:
    left = sorted({task.name for run in runs for task in run.cfg.tasks} - set(tasks))
    return [f"Not every run has these tasks, and they are left out: {', '.join(left)}."] if left else []


def _about_pairs(found: Comparison) -> list[str]:
    """What went into the pairs, and what did not."""
    said = []
    copies = max((pair.n_copies for pair in found.pairs), default=0)
    if copies:
        said.append(
            f"Up to {copies:,} trials of a pair are copies of earlier episodes: each different episode counts once, in "
            "estimates, tests and intervals."
        )
    singles = max((pair.n_single for pair in found.pairs), default=0)
    if singles:
        said.append(f"Up to {singles:,} trials have no partner with the same seed, and are left out of pairs.")
    unscored = max((pair.n_unscored for pair in found.pairs), default=0)
    if unscored:
        said.append(
            f"Up to {unscored:,} trials or pairs are unscored and left out; bounds say what they could have changed."
        )
    for because in sorted({pair.unpaired_because for pair in found.pairs if pair.unpaired_because}):
        said.append(f"Not paired ({because}): independent trials are compared, which takes more of them.")
    return said
