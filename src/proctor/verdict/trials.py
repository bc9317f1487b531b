"""The trials of agents as every verdict takes them: which are scored, which are new, which can be paired."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from proctor.config.models import EvalConfig
from proctor.record.columns import SCORED, Trials
from proctor.record.ledger import Ledger
from proctor.scoring import make_scoring
from proctor.scoring.columns import reads_of, scored_trials

IMPORTED = "imported"
"""The suite of tasks whose outcomes were read from a file."""
READ = ("outcome", "success", "trace", "after_stop")
NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class TaskTrials:
    """The finished trials of one agent on one task. `index`, `success` and `score` (NaN where a trial has none) are of
    the scored ones; `unscored` holds the indices of those that the infrastructure broke, `missing` of those that were
    planned and have not run. `n_repeats` more were left out, since each is known to be an episode that is here
    already. An index is what trials of two agents are paired by: their place in the plan or, `by_seed`, the seed."""

    index: np.ndarray
    success: np.ndarray
    score: np.ndarray
    unscored: np.ndarray = field(default_factory=NOTHING.copy)
    missing: np.ndarray = field(default_factory=NOTHING.copy)
    seed: np.ndarray | None = None
    """Of the scored trials; None: the same for every agent at an index."""
    unscored_seed: np.ndarray | None = None
    """Of the unscored ones, where `seed` is known."""
    n_repeats: int = 0
    terms: Mapping[str, np.ndarray] = field(default_factory=dict)
    """What each term of the score contributed to it, NaN where the policy broke the trial; empty where the score is no
    sum of terms."""

    defines_success: bool = True
    """Whether something says what success is on this task; if not, `success` means nothing."""

    @property
    def n(self) -> int:
        return len(self.index)

    @property
    def seeds(self) -> np.ndarray:
        """Trials of one seed are not independent of each other."""
        return self.index.astype(np.uint64) if self.seed is None else self.seed

    def by_seed(self, seeds: Mapping[int, int]) -> TaskTrials:
        """With the seed for an index, in the order of seeds; `seeds`: those of missing trials, by index."""
        assert self.seed is not None
        assert self.unscored_seed is not None
        order = np.argsort(self.seed, kind="stable")
        missing = np.array(sorted(seeds[index] for index in self.missing.tolist()), np.uint64)
        return replace(
            self,
            index=self.seed[order],
            success=self.success[order],
            score=self.score[order],
            seed=self.seed[order],
            unscored=np.sort(self.unscored_seed),
            unscored_seed=np.sort(self.unscored_seed),
            missing=missing,
            terms={name: column[order] for name, column in self.terms.items()},
        )


@dataclass(frozen=True, eq=False)
class AgentTrials:
    """`pairs`: whether trials of equal index and seed began alike, for every agent that says so. `unpaired`: why they
    are not to be paired although they may have, such as other rules."""

    name: str
    tasks: Mapping[str, TaskTrials]
    pairs: bool = True
    unpaired: str | None = None

    @property
    def n(self) -> int:
        return sum(task.n for task in self.tasks.values())

    @property
    def n_unscored(self) -> int:
        return sum(len(task.unscored) for task in self.tasks.values())

    @property
    def n_repeats(self) -> int:
        return sum(task.n_repeats for task in self.tasks.values())

    @property
    def successes(self) -> int:
        return int(sum(np.count_nonzero(task.success) for task in self.tasks.values()))

    def scores(self) -> np.ndarray:
        return np.concatenate([task.score for task in self.tasks.values()]) if self.tasks else np.empty(0)


def read_agents(
    ledger: Ledger, cfg: EvalConfig, tasks: Sequence[str], by_seed: Collection[str] = ()
) -> list[AgentTrials]:
    """Every agent of the config on these of its tasks, from what a verdict needs of a ledger: a hundred thousand trials
    in a fraction of a second. `by_seed`: tasks of which trials are paired by their seeds."""
    scoring = make_scoring(cfg.scoring)
    reads = reads_of(scoring)
    batches = ledger.batches() if reads is None else ledger.batches((*READ, *reads[0]), reads[1])
    trials = scored_trials(cfg, batches, scoring, ledger.initial_states())
    return agents_of(trials, cfg, tasks, planned_in(ledger, {*tasks} & {*by_seed}))


@dataclass(frozen=True)
class Planned:
    """What a run was to do beside the trials that it has finished: decides whether its agents can be paired."""

    pending: Collection[tuple[str, str, int]] = ()
    """(agent, task, index) of what has not run."""
    seeds: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """Of the tasks whose trials are paired by their seeds: the seed of every index, as far as some are pending."""


def planned_in(ledger: Ledger, by_seed: Collection[str]) -> Planned:
    """As the ledger has it; `by_seed`: tasks whose trials are paired by their seeds."""
    pending = frozenset(ledger.pending())
    return Planned(pending, {task: ledger.seeds(task) if pending else {} for task in by_seed})


def agents_of(
    trials: Trials,
    cfg: EvalConfig,
    tasks: Sequence[str],
    planned: Planned,
    terms: Mapping[str, Sequence[str]] | None = None,
) -> list[AgentTrials]:
    """Every agent of the config on these of its tasks. `terms`: the components of the score to keep, by task."""
    pairs = pairs_of(cfg)
    missing: dict[tuple[str, str], list[int]] = {}
    for agent, task, index in () if cfg.stop_when else planned.pending:
        missing.setdefault((agent, task), []).append(index)

    def of_task(agent: str, task: str) -> TaskTrials:
        gone = np.array(sorted(missing.get((agent, task), ())), np.int64)
        own = replace(task_trials(trials, agent, task, (terms or {}).get(task, ())), missing=gone)
        return own.by_seed(planned.seeds[task]) if task in planned.seeds else own

    return [AgentTrials(agent.name, {task: of_task(agent.name, task) for task in tasks}, pairs) for agent in cfg.agents]


def task_trials(trials: Trials, agent: str, task: str, terms: Sequence[str] = ()) -> TaskTrials:
    """One agent on one task, without the trials that come after a stop and without repeats. `terms`: the components of
    the score to keep where they were recorded."""
    rows = trials.rows(agent, task)
    before_stop = rows[~trials["after_stop"][rows]]
    kept = trials.counted(agent, task)
    is_scored = SCORED[trials["outcome"][kept]]
    scored = kept[is_scored]
    return TaskTrials(
        index=trials["index"][scored],
        success=trials["success"][scored],
        score=trials["score"][scored],
        unscored=trials["index"][kept[~is_scored]],
        unscored_seed=trials["seed"][kept[~is_scored]],
        seed=trials["seed"][scored],
        n_repeats=len(before_stop) - len(kept),
        terms={name: trials.components[name][scored] for name in terms if name in trials.components},
        defines_success=task not in trials.without_success,
    )


def pairs_of(cfg: EvalConfig) -> bool:
    """Whether trials of one index began alike: always for trials that Proctor ran."""
    return all(task.options.get("pairs", False) for task in cfg.tasks if task.suite == IMPORTED)
