"""An agent at work: its loaded policy, one lane per stage, and what happens when the policy hangs.

A forward that outlasts its limit cannot be interrupted, only left behind: the policy is loaded afresh on new threads,
and the trials of that batch are asked again one by one, so the one that hangs is found and the others go on.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from proctor.config.models import LimitsCfg
from proctor.errors import BREAKS
from proctor.policies.options import PolicyOptions
from proctor.policies.protocol import AnyPolicy
from proctor.rollout.ask.columns import rows_beside, widened
from proctor.rollout.ask.decide import too_long
from proctor.rollout.ask.lanes import Lane, LaneStats, Moment
from proctor.rollout.ask.requests import guilty
from proctor.rollout.ask.runner import Answers, PolicyRunner
from proctor_host.copies import end_if_copied, forks
from proctor_host.errors import explain
from proctor_host.limits import UNLOADING, limit_of

if TYPE_CHECKING:
    from proctor.rollout.backends.base import Worker
    from proctor_host.task import Task as Described

MAX_HANGS = 8
"""After so many hangs an agent is given up: each one leaves a thread and a copy of the policy behind."""

log = logging.getLogger("proctor")


class AgentRuntime:
    """`load` makes a fresh policy; `deliver` is called from lane threads. `tasks` are those that it may meet."""

    def __init__(
        self,
        name: str,
        load: Callable[[], AnyPolicy],
        options: PolicyOptions,
        slots: int,
        deliver: Callable[[Lane, Answers], None],
        tasks: Sequence[Described] = (),
    ):
        self.name, self._load, self._options, self._deliver = name, load, options, deliver
        self._slots, self._tasks = slots, tasks
        self._stats: dict[str, LaneStats] = {}
        self._hangs = 0
        self.given_up: str | None = None
        self.in_workers = False
        """Whether its policy is asked in the workers, for trials that begin now."""
        self.load_s = 0.0
        """What loading the policy took."""
        self.lanes: dict[str, Lane] = {}
        self._open()

    def _open(self) -> None:
        began = time.perf_counter()
        policy = self._load()
        self.load_s = time.perf_counter() - began
        rows = rows_beside(policy, self._options, self._tasks)
        self.runner = PolicyRunner.of(policy, widened(self._options, rows))
        self.beside_device = rows is not None
        """Whether it is on the device of a task's worlds, and can be asked for all of them at once."""
        for stage in self.runner.stages:
            lane = Lane(self.runner, stage, self._slots, self._deliver)
            lane.stats = self._stats.setdefault(stage.name, lane.stats)
            self.lanes[stage.name] = lane
        wanted = self._options.placement
        self.in_workers = self._hangs == 0 and (policy.placement if wanted == "auto" else wanted) == "worker"

    def is_asked_in(self, worker: Worker) -> bool:
        """Whether the policy is asked where this worker lives, for trials that begin now."""
        return self.in_workers and worker.has_policies

    @property
    def may_move(self) -> bool:
        """Whether nobody has said where it is to be asked, and it has never hung."""
        return self._options.placement == "auto" and self._hangs == 0 and self.given_up is None

    @property
    def first_stage(self) -> str:
        return self.runner.first_stage

    @property
    def stats(self) -> dict[str, LaneStats]:
        return self._stats

    def drop(self, owner: Any) -> None:
        """Forget what a slot or seat asked for."""
        for lane in self.lanes.values():
            lane.drop(owner)

    @property
    def asked(self) -> bool:
        """Whether a request waits for a forward."""
        return any([lane.asked for lane in self.lanes.values()])

    def dispatch(self, moment: Moment, live: dict[Any, int]) -> float | None:
        """Start what is due; when to look again."""
        if len(self.lanes) == 1:
            return self.lanes[self.first_stage].dispatch(moment, live)
        lanes = list(self.lanes.values())
        times = [lane.dispatch(moment, live, [other for other in lanes if other is not lane]) for lane in lanes]
        return min((t for t in times if t is not None), default=None)

    def overdue(self, now: float, limit_s: float | None) -> list[Answers]:
        """Deal with forwards that outlast the limit; the answers of trials that are thereby lost."""
        if limit_s is None:
            return []
        hung = [x for x in self.lanes.values() if x.started_at is not None and now - x.started_at > limit_s]
        return [answers for lane in hung if (answers := self._hang(lane, limit_s)) is not None]

    def too_slow(self, lane: Lane, limit_s: float, answers: Answers) -> Answers | None:
        """A forward came back, but later than the limit: its trials are asked again one by one, and who is slow again
        fails. A single trial has that second chance, too: perhaps it was this process that was stopped."""
        if guilty(answers.requests):
            return Answers.failed(answers.requests, too_long(lane.stage.name, limit_s))
        for request in answers.requests:
            request.stream.rewind()
            lane.put_alone(request)
        return None

    def _hang(self, lane: Lane, limit_s: float) -> Answers | None:
        self._hangs += 1
        reason = too_long(lane.stage.name, limit_s)
        log.warning("agent %s: %s (%d requests)", self.name, reason, len(lane.in_flight))
        suspects, old, left = lane.in_flight, dict(self.lanes), self.runner.policy
        left.abandon()
        if self._hangs >= MAX_HANGS:
            self.given_up = f"{reason}; after {MAX_HANGS} hangs the agent was given up"
        else:
            try:
                self._open()
            except BREAKS as problem:
                self.given_up = f"{reason}, and it could not be loaded again: {explain(problem)}"
        if self.given_up is not None:
            lane.in_flight, lane.started_at = [], None
            return Answers.failed(suspects, self.given_up)
        self._move(old, lane)
        if guilty(suspects):
            return Answers.failed(suspects, reason)
        for request in suspects:
            self.lanes[lane.stage.name].put_alone(request.again())
        return None

    def _move(self, old: dict[str, Lane], hung: Lane) -> None:
        """Hand what waits in the old lanes to the new ones. Other forwards in flight are asked again: the same
        answer."""
        for name, lane in old.items():
            lane.close()
            waiting = [r for requests in lane.waiting.values() for r in requests] + lane.take_alone()
            for request in waiting + ([] if lane is hung else [r.again() for r in lane.in_flight]):
                self.lanes[name].put(request)
            lane.retired = True

    def close(self, limits: LimitsCfg) -> str | None:
        """Let go of the policy. What to say of one that does not return in time; it is left behind."""
        for lane in self.lanes.values():
            lane.close()
        for lane in self.lanes.values():
            lane.join(2.0)
        closing = threading.Thread(target=self._close_policy, name="proctor-close", daemon=True)
        closing.start()
        late, limit_s = limit_of(UNLOADING, limits)
        closing.join(limit_s)
        if not closing.is_alive():
            return None
        log.warning("agent %s: %s within %g s", self.name, late, limit_s)
        return f"{late} within {limit_s:g} s"

    def _close_policy(self) -> None:
        before = forks()
        try:
            self.runner.policy.close()
        except BaseException as problem:
            log.warning("agent %s: close raised %s", self.name, explain(problem))
        end_if_copied(before)
