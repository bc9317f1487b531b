"""One leaderboard of several run folders, if they examined their agents in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from proctor.config.models import EvalConfig
from proctor.errors import InputError
from proctor.record.columns import Trials
from proctor.record.rundir import RunDir
from proctor.scoring import make_scoring
from proctor.scoring.trials import scored_trials
from proctor.verdict.leaderboard.build import Contest, LeaderboardOptions, build
from proctor.verdict.leaderboard.model import Leaderboard
from proctor.verdict.protocol import (
    Examined,
    Unlike,
    about_stopping,
    examine,
    names_apart,
    unlike_scoring,
    unlike_tasks,
    unlike_versions,
)
from proctor.verdict.trials import pairs_of, task_trials


def leaderboard(paths: Sequence[str | Path], options: LeaderboardOptions = LeaderboardOptions()) -> Leaderboard:  # noqa: B008 - frozen
    """The agents of one run, or of several. Raises InputError, saying what differs, unless protocol, seeds and versions
    are the same."""
    if not 0 < options.level < 1:
        raise InputError(f"a level of {options.level:g}; it lies between 0 and 1, 0.95 for instance")
    if not paths:
        raise InputError("no run folder; name one or more")
    runs = [RunDir.open(path) for path in paths]
    examined = examine(runs)
    check_alike(examined)
    found = [_read(run, one.cfg) for run, one in zip(runs, examined, strict=True)]
    contest = _contest(examined, found)
    if not any(cell.n for tasks in contest.agents.values() for cell in tasks.values()):
        raise InputError("no run has a scored trial; there is nothing to rank")
    board = build(contest, replace(options, seed=examined[0].cfg.base_seed))
    remarks = contest.scoring.remarks(_metrics(found, contest.tasks))
    return replace(
        board,
        cautions=(
            *(remark.text for remark in remarks if remark.level == "caution"),
            *about_stopping(examined),
            *board.cautions,
        ),
        notes=tuple(remark.text for remark in remarks if remark.level == "note"),
        runs={one.label: one.described() for one in examined},
    )


def check_alike(runs: Sequence[Examined]) -> None:
    """Raise InputError with everything in which the runs differ from the first."""
    found = [
        f"{difference} ({runs[0].label}, {other.label})"
        for other in runs[1:]
        for difference in _differences(runs[0], other)
    ]
    if found:
        raise InputError(
            "these runs do not make one leaderboard; they differ in\n  "
            + "\n  ".join(found)
            + "\nRun one of them again with the other's settings (for scoring, `proctor score RUN --set "
            "scoring.KEY=VALUE` is enough); `proctor compare --across-protocols` compares them as they are"
        )


def _differences(first: Examined, second: Examined) -> list[Unlike]:
    return [
        *_unlike_names(first, second),
        *unlike_tasks(first, second),
        *_unlike_seeds(first, second),
        *unlike_scoring(first, second),
        *[replace(found, what=f"version of {found.what}") for found in unlike_versions(first, second)],
    ]


def _unlike_names(first: Examined, second: Examined) -> list[Unlike]:
    names = [sorted(task.name for task in run.cfg.tasks) for run in (first, second)]
    return [Unlike("tasks", *(", ".join(some) for some in names))] if names[0] != names[1] else []


def _unlike_seeds(first: Examined, second: Examined) -> list[Unlike]:
    """Seeds are the first one and their number."""
    a, b = first.cfg, second.cfg
    found = [Unlike("seeds from", str(a.base_seed), str(b.base_seed))] if a.base_seed != b.base_seed else []
    others = {task.name: b.trials_of(task) for task in b.tasks}
    for task in a.tasks:
        if task.name in others and a.trials_of(task) != others[task.name]:
            found.append(Unlike(f"task {task.name}, number of seeds", str(a.trials_of(task)), str(others[task.name])))
    return found


def _read(run: RunDir, cfg: EvalConfig) -> Trials:
    with run.ledger() as ledger:
        return scored_trials(cfg, ledger.batches(), make_scoring(cfg.scoring))


def _contest(runs: Sequence[Examined], found: Sequence[Trials]) -> Contest:
    own = [[agent.name for agent in run.cfg.agents] for run in runs]
    tasks = tuple(task.name for task in runs[0].cfg.tasks)
    names = names_apart(own, [run.label for run in runs])
    scoring = make_scoring(runs[0].cfg.scoring)
    terms = {task: list(scoring.term_weights(task)) for task in tasks}
    agents = {
        name: {task: task_trials(trials, agent, task, terms[task]) for task in tasks}
        for trials, in_run, here in zip(found, own, names, strict=True)
        for agent, name in zip(in_run, here, strict=True)
    }
    name = " and ".join(dict.fromkeys(run.cfg.name for run in runs))
    return Contest(name, tasks, agents, scoring, all(pairs_of(run.cfg) for run in runs))


def _metrics(found: Sequence[Trials], tasks: Sequence[str]) -> dict[str, list[str]]:
    return {task: list(dict.fromkeys(name for trials in found for name in trials.metrics_of(task))) for task in tasks}
