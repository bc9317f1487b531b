"""The workers of a run: how many, which slots they have, and replacing those that are lost."""

from __future__ import annotations

import select
import textwrap
from collections.abc import Iterator

from proctor.config.models import EvalConfig
from proctor.errors import RunError
from proctor.registry import BACKENDS
from proctor.rollout.backends.base import Lost, Worker
from proctor_host.messages import Asks, Close, Event
from proctor.rollout.slots import Slot
from proctor_host.cfg import WorkerCfg

MAX_FRUITLESS_DEATHS, MAX_FRUITLESS_HANGS = 5, 2


class Member:
    """A worker and its slots."""

    def __init__(self, worker: Worker):
        self.worker = worker
        self.slots = [Slot(self, i) for i in range(worker.slots)]
        self.live = 0
        """Slots that hold a trial."""
        self.running = 0
        """Of these, the slots that the worker can step."""
        self._pace_s = 0.0
        self._heard_at = 0.0
        self.exclusive: str | None = None
        """The task whose batch environment has the whole worker."""
        self.fd: int | None = None
        self.deaths = 0
        """Lost since it last finished a trial."""

    @property
    def idle(self) -> bool:
        return self.live == 0

    def spare_s(self, now: float) -> float:
        """About how long until the worker has nothing to step."""
        return self.running * self._pace_s - (now - self._heard_at)

    def heard(self, events: list[Event], now: float) -> None:
        """These events have come: what one step takes there, on average lately."""
        slots = sum(len(event.slots) if type(event) is Asks else 1 for event in events)
        pace = min(now - self._heard_at, 1.0) / slots
        self._pace_s, self._heard_at = 0.8 * self._pace_s + 0.2 * pace, now


class Crew:
    """Start it, wait on it, replace the lost, close it."""

    def __init__(self, cfg: EvalConfig, worker: WorkerCfg):
        kind = BACKENDS.find(cfg.workers.kind)
        self._backend = kind(worker, kind.Options.model_validate(cfg.workers.options))
        self.inline = kind.in_this_process
        self._poll = select.poll()
        self._readable: set[int] = set()
        shares = self._backend.shares(cfg.num_parallel, cfg.workers.count)
        self.members: list[Member] = []
        try:
            for slots in shares:
                self.members.append(Member(self._backend.hire(slots)))
        except BaseException:
            for member in self.members:
                member.worker.kill()
            raise
        for member in self.members:
            self._register(member)

    def _register(self, member: Member) -> None:
        fd = member.worker.fileno()
        if fd is not None:
            self._poll.register(fd, select.POLLIN)
            member.fd = fd

    def watch(self, fd: int) -> None:
        """Also wake up when this file is readable."""
        self._poll.register(fd, select.POLLIN)

    def slots(self) -> Iterator[Slot]:
        for member in self.members:
            yield from member.slots

    def flush(self) -> None:
        for member in self.members:
            member.worker.flush()

    def work(self, seconds: float) -> None:
        """Step environments that live in this process."""
        if self.inline:
            self.members[0].worker.work(seconds)

    @property
    def busy(self) -> bool:
        """Whether `work` has something to do."""
        return self.inline and self.members[0].worker.busy

    def wait(self, seconds: float) -> None:
        """Until something happens, at most so long."""
        self._readable = {fd for fd, _ in self._poll.poll(max(1000.0 * seconds, 0.0))}

    def events(self) -> Iterator[tuple[Member, list[Event]]]:
        """What each worker had said by the end of the last `wait`; workers that said nothing are left out."""
        for member in self.members:
            if member.fd is None or member.fd in self._readable:
                events = member.worker.events()
                if events:
                    yield member, events

    def spare_s(self, now: float) -> float:
        """About how long until the first worker that has trials has nothing to step."""
        return min((member.spare_s(now) for member in self.members if member.live), default=0.0)

    def replace(self, member: Member, lost: Lost) -> None:
        """A fresh worker in the place of a lost one. Its slots must be free."""
        member.deaths += 1
        self._unregister(member)
        most = MAX_FRUITLESS_HANGS if lost.hung else MAX_FRUITLESS_DEATHS
        if member.deaths >= most and lost.slot is None:
            raise RunError(
                f"worker processes keep dying before they finish a trial ({lost.reason}, {member.deaths} times); "
                f"`proctor check` with `workers: inline` shows what goes wrong{printed(lost)}"
            )
        member.exclusive = None
        member.worker = self._backend.hire(member.worker.slots)
        self._register(member)

    def _unregister(self, member: Member) -> None:
        if member.fd is not None:
            self._poll.unregister(member.fd)
            member.fd = None

    def close(self) -> list[Event]:
        """End everyone; the last events."""
        for member in self.members:
            member.worker.send(Close())
            member.worker.flush()
        return [event for member in self.members for event in member.worker.drain()]


def printed(lost: Lost) -> str:
    """The end of an error's text, with what workers printed last."""
    return f"\nThe last lines of workers.log:\n{textwrap.indent(lost.said, '  ')}" if lost.said else ""
