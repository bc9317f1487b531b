"""Which trial a free slot gets next.

A slot stays with its task while that task has trials, so environments are made once per slot; then it goes to the
task with the most work left per slot, once all that has ended in its worker is on disk: to let go of an environment may
take the worker with it. A batch environment takes a whole worker, so such a task starts where every
slot is free. Agents come in groups (see `plan`); a group starts when the one before it is through.

Where the run may stop early, tasks keep step: none is a block of the plan ahead of another that has work left, because
a test reads them in turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

from proctor.plan.plan import Plan
from proctor.rollout.crew import Member
from proctor.rollout.slots import Slot
from proctor_host.trials import Trial


class Scheduler:
    """`pending` are the (agent, task, index) to run; `worlds` the tasks that are batch environments, with their size;
    `attended` those that a person looks after, with the worker that has the environment: of all of these together one
    trial runs at a time, in that worker's first slot."""

    def __init__(
        self,
        plan: Plan,
        pending: set[tuple[str, str, int]],
        worlds: dict[str, int],
        attended: Mapping[str, Member] | None = None,
    ):
        self._plan, self._pending, self._worlds, self.attended = plan, pending, worlds, attended or {}
        self._retries: dict[str, deque[Trial]] = {task: deque() for task in plan.tasks}
        self._groups = deque(g for g in plan.groups() if any(key[0] in set(g) for key in pending))
        self._source: dict[str, Iterator[Trial]] = {}
        self._left: dict[str, int] = dict.fromkeys(plan.tasks, 0)
        self._live: dict[str, int] = dict.fromkeys(plan.tasks, 0)
        self._index: dict[str, int] = dict.fromkeys(plan.tasks, 0)
        self._loaded: set[str] = set()
        self._closed: set[str] = set()
        self._in_step = plan.cfg.stop_when is not None

    def next_group(self) -> list[str] | None:
        """Go on to the next agents; None when there are none."""
        if not self._groups:
            return None
        group = self._groups.popleft()
        self._loaded = members = set(group)
        self._left = dict.fromkeys(self._plan.tasks, 0)
        self._index = dict.fromkeys(self._plan.tasks, 0)
        for agent, task, _ in self._pending:
            if agent in members:
                self._left[task] += 1
        self._source = {task: self._trials(group, task) for task in self._plan.tasks}
        return [agent for agent in group if any(key[0] == agent for key in self._pending)]

    def later_agents(self) -> list[str]:
        """The agents of all groups but the first."""
        return [agent for group in list(self._groups)[1:] for agent in group]

    def _trials(self, group: list[str], task: str) -> Iterator[Trial]:
        for trial in self._plan.of_task(group, task):
            key = (trial.agent, task, trial.index)
            if key in self._pending:
                self._pending.discard(key)
                yield trial

    @property
    def exhausted(self) -> bool:
        """Nothing is left to start in this group, and nothing runs that might come back."""
        return not any(self._left.values()) and not any(self._live.values())

    @property
    def waiting(self) -> bool:
        """Whether trials are left to start in this group."""
        return any(self._left.values())

    def waits_for(self, member: Member) -> bool:
        """Whether trials are left that this worker can run, or run there now."""
        return any(self._left[task] or self._live[task] for task in member.tasks)

    def pick(self, slot: Slot) -> Trial | None:
        """A trial for a free slot; None if it must wait or nothing is left."""
        task = self._choose(slot, slot.member)
        if task is None:
            return None
        self._left[task] -= 1
        self._live[task] += 1
        slot.last_task = task
        trial = self._retries[task].popleft() if self._retries[task] else next(self._source[task])
        self._index[task] = max(self._index[task], trial.index)
        return trial

    def ended(self, trial: Trial) -> None:
        """A trial that was picked runs no more."""
        self._live[trial.task] -= 1

    def retry(self, trial: Trial) -> None:
        """Run a trial again, unless nobody needs it any more."""
        if trial.agent not in self._closed:
            self._retries[trial.task].append(trial)
            self._left[trial.task] += 1

    def close(self, agents: set[str]) -> None:
        """Start no more trials of these agents. Those that run go on."""
        self._closed |= agents
        for task, waiting in self._retries.items():
            kept = [trial for trial in waiting if trial.agent not in agents]
            self._left[task] -= len(waiting) - len(kept)
            self._retries[task] = deque(kept)
        for agent, task, index in [key for key in self._pending if key[0] in agents]:
            self._pending.discard((agent, task, index))
            self._left[task] -= agent in self._loaded

    def _ahead(self, task: str) -> bool:
        """Whether a task must wait for the others."""
        behind = min((self._index[t] for t, left in self._left.items() if left), default=0)
        return self._in_step and self._index[task] >= behind + self._plan.block

    def _may_attend(self, task: str, slot: Slot) -> bool:
        free = not any(self._live[other] for other in self.attended)
        return free and slot.number == 0 and slot.member is self.attended[task]

    def _choose(self, slot: Slot, member: Member) -> str | None:
        if member.exclusive is not None:
            if self._left[member.exclusive] and not self._ahead(member.exclusive):
                return member.exclusive if slot.number < self._worlds[member.exclusive] else None
            if not member.idle:
                return None
            member.exclusive = None
        open_tasks = [t for t in member.tasks if self._left[t] and (t not in self._worlds or member.idle)]
        open_tasks = [t for t in open_tasks if not self._ahead(t)] if self._in_step else open_tasks
        if self.attended:
            open_tasks = [t for t in open_tasks if self.attended.get(t) is None or self._may_attend(t, slot)]
        if slot.last_task in open_tasks and slot.last_task not in self._worlds:
            return slot.last_task
        if not open_tasks or member.parted:
            return None
        task = max(open_tasks, key=lambda t: self._left[t] / (self._live[t] + 1))
        if task in self._worlds:
            if slot.number >= self._worlds[task]:
                return None
            member.exclusive = task
        return task
