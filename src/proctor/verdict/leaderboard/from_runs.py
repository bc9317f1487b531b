"""One leaderboard of several run folders, if they examined their agents in the same way."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from proctor.errors import InputError
from proctor.plan.plan import seed_words
from proctor.record.columns import Trials
from proctor.scoring import make_scoring
from proctor.scoring.columns import scored_trials
from proctor.verdict import protocol
from proctor.verdict.estimand import judging_of
from proctor.verdict.leaderboard.build import Contest, build
from proctor.verdict.leaderboard.model import Leaderboard
from proctor.verdict.protocol import Examined, Paths, against
from proctor.verdict.trials import Planned, agents_of, pairs_of, planned_in


def leaderboard(
    paths: Paths,
    level: float = 0.95,
    weights: Mapping[str, float] | None = None,
    *,
    trust: bool = False,
) -> Leaderboard:
    """The agents of one run, or of several, judged as the first run's report has it. Raises InputError, saying what
    differs, unless protocol, seeds and versions are the same. `weights`: task -> how much it counts, 1 by default.
    `trust`: code that the runs are scored with may be imported, whoever wrote it."""
    runs = protocol.examine(paths, level, trust=trust)
    if not runs:
        raise InputError("no run folder; name one or more")
    if differing := protocol.differences_among(
        runs,
        _unlike_names,
        protocol.unlike_tasks,
        _unlike_seeds,
        protocol.unlike_scoring,
        _unlike_packages,
        protocol.unlike_runtimes,
    ):
        compare_instead = "; `proctor compare --across-protocols` compares them as they are"
        raise protocol.refused("these runs do not make one leaderboard", differing, compare_instead)
    by_seed = protocol.paired_by_seed(runs)
    found = [_read(run, by_seed) for run in runs]
    contest = _contest(runs, found)
    if not any(cell.n for tasks in contest.agents.values() for cell in tasks.values()):
        raise InputError("no run has a scored trial; there is nothing to rank")
    judging = judging_of(runs[0].cfg, contest.scoring, level, any(run.looks for run in runs))
    board = build(contest, judging, weights or {})
    remarks = contest.scoring.remarks(
        {task: list(dict.fromkeys(n for trials, _ in found for n in trials.metrics_of(task))) for task in contest.tasks}
    )
    return replace(
        board,
        cautions=(
            *(remark.text for remark in remarks if remark.level == "caution"),
            *protocol.about_stopping(runs),
            *board.cautions,
        ),
        notes=tuple(remark.text for remark in remarks if remark.level == "note"),
        runs={run.label: run.described() for run in runs},
    )


def _unlike_names(first: Examined, second: Examined) -> list[str]:
    names = [sorted(task.name for task in run.cfg.tasks) for run in (first, second)]
    return [against("tasks", *(", ".join(some) for some in names))] if names[0] != names[1] else []


def _unlike_seeds(first: Examined, second: Examined) -> list[str]:
    """Where trials begin by their seed alone, the order of seeds does not matter."""
    a, b = first.cfg, second.cfg
    by_seed = protocol.paired_by_seed([first, second])
    found: list[str] = []
    for name in protocol.common_tasks([first, second]):
        own, others = a.seeds_of(a.task(name)), b.seeds_of(b.task(name))
        if len(own) != len(others):
            found.append(against(f"task {name}, number of seeds", len(own), len(others)))
        alike = set(own) == set(others) if name in by_seed else list(own) == list(others)
        if not alike and own[0] != others[0] and isinstance(own, range) and isinstance(others, range):
            found.append(against("seeds from", own[0], others[0]))
        elif not alike and len(own) == len(others):
            found.append(against(f"task {name}", seed_words([own]), seed_words([others])))
    return list(dict.fromkeys(found))


def _unlike_packages(first: Examined, second: Examined) -> list[str]:
    return [f"version of {found}" for found in protocol.unlike_versions(first, second)]


def _read(run: Examined, by_seed: Collection[str]) -> tuple[Trials, Planned]:
    with run.run.ledger() as ledger:
        trials = scored_trials(run.cfg, ledger.batches(), make_scoring(run.cfg.scoring), ledger.initial_states())
        return trials, planned_in(ledger, by_seed)


def _contest(runs: Sequence[Examined], found: Sequence[tuple[Trials, Planned]]) -> Contest:
    own = [[agent.name for agent in run.cfg.agents] for run in runs]
    tasks = tuple(task.name for task in runs[0].cfg.tasks)
    names = protocol.names_apart(own, [run.label for run in runs])
    scoring = make_scoring(runs[0].cfg.scoring)
    terms = {task: list(scoring.term_weights(task)) for task in tasks}
    agents = {
        name: agent.tasks
        for run, (trials, planned), here in zip(runs, found, names, strict=True)
        for agent, name in zip(agents_of(trials, run.cfg, tasks, planned, terms), here, strict=True)
    }
    name = " and ".join(dict.fromkeys(run.cfg.name for run in runs))
    return Contest(name, tasks, agents, scoring, all(pairs_of(run.cfg) for run in runs))
