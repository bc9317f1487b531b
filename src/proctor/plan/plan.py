"""The plan: agents x tasks x seeds, as arithmetic rather than as a list, so that its size costs no memory.

Order: agents in groups of `limits.max_loaded_agents`; within a group by blocks of 16 seeds, then task, then agent,
then seed. So trials of one agent run side by side and share its forwards, and a run that stops early has examined
every agent on nearly the same seeds. A shard i/n is every n-th trial counted by agent, task and index, however they
are grouped.

Where the run may stop early (`stop_when`), blocks are no larger than `num_parallel`, and the agents that are compared
are in one group: what a test reads next is run next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from proctor.config.models import EvalConfig
from proctor.errors import InputError
from proctor_host.trials import Trial

BLOCK = 16


@dataclass(frozen=True)
class Shard:
    """Part `index` of `count`, from 1."""

    index: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise InputError(f'a shard is written i/n with 1 <= i <= n, such as 2/4; found "{text}"')
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    @property
    def suffix(self) -> str:
        """What tells the folders of shards apart; nothing for the whole."""
        return "" if self.count == 1 else f"-shard-{self.index}-of-{self.count}"


class Plan:
    """The trials of one run (or of one shard of it)."""

    def __init__(self, cfg: EvalConfig, shard: Shard | None = None):
        self.cfg, self.shard = cfg, shard or Shard()
        self.agents = [a.name for a in cfg.agents]
        self.tasks = [t.name for t in cfg.tasks]
        self._agent_position = {name: i for i, name in enumerate(self.agents)}
        self._task_position = {name: i for i, name in enumerate(self.tasks)}
        self._n_trials = {task.name: cfg.trials_of(task) for task in cfg.tasks}
        self._seeds = {task.name: cfg.seeds_of(task) for task in cfg.tasks}
        self._before = dict(zip(self.tasks, accumulate(self._n_trials.values(), initial=0), strict=False))
        self.block = BLOCK if cfg.stop_when is None else min(BLOCK, cfg.num_parallel)
        self._agent_files = _file_names(self.agents)
        self._task_files = _file_names(self.tasks)

    def groups(self) -> list[list[str]]:
        """Agents that are in memory together."""
        size, rule = self.cfg.limits.max_loaded_agents, self.cfg.stop_when
        compared = () if rule is None else rule.compare or ()
        agents = sorted(self.agents, key=lambda name: name not in compared)
        return [agents[i : i + size] for i in range(0, len(agents), size)]

    def __iter__(self) -> Iterator[Trial]:
        return (trial for trial in self._all() if self._number(trial) % self.shard.count == self.shard.index - 1)

    def _number(self, trial: Trial) -> int:
        return self._agent_position[trial.agent] * self.cfg.trials_per_agent + self._before[trial.task] + trial.index

    def _all(self) -> Iterator[Trial]:
        for group in self.groups():
            for start in range(0, max(self._n_trials.values()), self.block):
                for task in self.tasks:
                    yield from self._of_block(group, task, start)

    def of_task(self, group: Sequence[str], task: str) -> Iterator[Trial]:
        """The trials of one task and one group of agents, whatever the shard, in plan order."""
        for start in range(0, self._n_trials[task], self.block):
            yield from self._of_block(group, task, start)

    def _of_block(self, group: Sequence[str], task: str, start: int) -> Iterator[Trial]:
        for agent in group:
            for index in range(start, min(start + self.block, self._n_trials[task])):
                yield Trial(agent, task, index, self._seeds[task][index])

    def placed(self) -> Iterator[tuple[Trial, int, int]]:
        """Every trial with the positions of its agent and task, as the ledger wants them."""
        for trial in self:
            yield trial, self._agent_position[trial.agent], self._task_position[trial.task]

    def stem(self, trial: Trial) -> str:
        """File name of a trial's record, without the ending: safe and unique."""
        task = f"__{self._task_files[trial.task]}" if len(self.tasks) > 1 else ""
        return f"{self._agent_files[trial.agent]}{task}_trial{trial.index:04d}_seed{trial.seed}"


def _file_names(names: Sequence[str]) -> dict[str, str]:
    """A file-safe name for each, unique also on file systems that ignore case."""
    taken: set[str] = set()
    result = {}
    for name in names:
        safe = re.sub(r"[^A-Za-z0-9.+-]+", "_", name).strip("._")[:80] or "x"
        candidate, n = safe, 1
        while candidate.lower() in taken:
            n += 1
            candidate = f"{safe}-{n}"
        taken.add(candidate.lower())
        result[name] = candidate
    return result


SHOWN = 8
"""Seeds of a list that are written out in a line."""


def seed_words(lists: Sequence[Sequence[int]]) -> str:
    """Which seeds trials had, of the lists of their tasks: `seeds from 123` where they follow one another, else the
    first ones of the first list."""
    firsts = list(dict.fromkeys(own[0] for own in lists if isinstance(own, range)))
    listed = list(dict.fromkeys(tuple(own) for own in lists if not isinstance(own, range)))
    if not listed:
        return f"seeds from {firsts[0]}"
    words = ", ".join(map(str, listed[0][:SHOWN]))
    more = f" and {len(listed[0]) - SHOWN:,} more" if len(listed[0]) > SHOWN else ""
    return f"seeds {words}{more}" + ("; other tasks have other seeds" if len(listed) + len(firsts) > 1 else "")


def seeds_of_run(cfg: EvalConfig) -> str:
    """As `seed_words`, of all tasks of a config."""
    return seed_words([cfg.seeds_of(task) for task in cfg.tasks])
