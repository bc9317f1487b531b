"""A replica: an agent's policy, with its lanes, for workers that ask it directly.

What an engine does for the policies that it asks itself happens here for seats instead of slots: requests gather in
lanes, a forward answers them, `decide` says what follows. A seat holds the policy's state of a trial and the trial's
generator as long as the trial runs; when the replica is lost, so are they, and the trial starts again elsewhere. Which
trials share a forward changes nothing in them.

One thread owns everything but the forwards, and runs those itself that are known to be short. Answers are sent as fast
as they are taken: a worker that is busy writing to us is never waited for.
"""

from __future__ import annotations

import contextlib
import logging
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from proctor.config.models import LimitsCfg
from proctor.policies.options import PolicyOptions
from proctor.policies.protocol import AnyPolicy
from proctor.rollout.ask.agents import AgentRuntime
from proctor.rollout.ask.decide import decide
from proctor.rollout.ask.lanes import Lane, LaneStats, Moment
from proctor.rollout.ask.runner import Answers
from proctor.rollout.cluster.callers import Caller, Seat, current
from proctor.rollout.tasks import Task
from proctor.rollout.thread import Supervisor, Waker, prefer_short_slices
from proctor_host.board import SharedBoard
from proctor_host.channel import Closed
from proctor_host.handshake import Doorkeeper, Lapse
from proctor_host.messages import Asks, Finish, Leave, Run, Sees, Shows, Take, Trying

WATCH_S = 0.05
MOST_CALLERS = 4096
MOST_UNPROVED = 64
"""Callers at once that have not proved that they know the token; further ones wait to be accepted."""

log = logging.getLogger("proctor")


@dataclass
class Told:
    """What a replica has done since it was last asked: forwards by stage, steps that it gave actions for, and the
    seconds that this is about. `given_up`: why nobody is answered any more."""

    stats: dict[str, LaneStats] = field(default_factory=dict)
    steps: int = 0
    seconds: float = 0.0
    given_up: str | None = None


@dataclass(frozen=True)
class ReplicaCfg:
    """Of which agent, for which tasks, and where. `token`: what callers have to know. `slots`: how many trials the run
    has at once; `act_s`: seconds that a forward may take. `examined`: whether it is looked for answers that depend on
    the rows beside them."""

    agent: str
    options: PolicyOptions
    tasks: Mapping[str, Task]
    address: tuple[str, int]
    token: bytes
    slots: int
    act_s: float | None
    examined: bool


class Replica:
    """Listens from the moment it is made; `serve` answers until `stop`. `load` makes the policy, which is loaded now:
    what it raises is raised here."""

    def __init__(self, cfg: ReplicaCfg, load: Callable[[], AnyPolicy]):
        self._tasks, self._token, self._act_s = cfg.tasks, cfg.token, cfg.act_s
        self._waker = Waker()
        self._answers: deque[tuple[Lane, Answers, float]] = deque()
        self._arrived: deque[socket.socket] = deque()
        self._doors = threading.Semaphore(MOST_UNPROVED)
        self._callers: dict[int, Caller] = {}
        self._live: dict[Any, int] = {}
        self._alone: deque[Seat] = deque()
        """Who is to be answered without company."""
        self._trying: Seat | None = None
        self._steps, self._told_at = 0, time.monotonic()
        self._stopping = False
        self._supervisor = Supervisor(cfg.act_s)
        self._lock = threading.Lock()
        self.runtime = AgentRuntime(cfg.agent, load, cfg.options, cfg.slots, self._deliver)
        self.runtime.runner.examined = cfg.examined
        self._told = {stage: LaneStats() for stage in self.runtime.lanes}
        host = cfg.address[0]
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server(cfg.address, family=family, backlog=256)
        port = self._listener.getsockname()[1]
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        threading.Thread(target=self._receive_callers, name="proctor-door", daemon=True).start()

    # Callers ----------------------------------------------------------------------------------------------------------

    def _receive_callers(self) -> None:
        """Accept callers, each of which has to prove itself on a thread of its own."""
        while not self._stopping:
            self._doors.acquire()
            try:
                sock, _ = self._listener.accept()
            except OSError:
                self._doors.release()
                time.sleep(WATCH_S)  # it has been closed, or no more files may be opened, for now
                continue
            threading.Thread(target=self._introduce, args=(sock,), daemon=True).start()

    def _introduce(self, sock: socket.socket) -> None:
        try:
            self._ask_who(sock)
        finally:
            self._doors.release()

    def _ask_who(self, sock: socket.socket) -> None:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            door = Doorkeeper(sock, self._token)
            door.ask()
            door.welcome(MOST_CALLERS)
            sock.settimeout(None)
        except (Lapse, OSError) as why:
            log.warning("a caller was sent away: %s", why)
            sock.close()
            return
        self._arrived.append(sock)
        self._waker.wake()

    def _hang_up(self, caller: Caller) -> None:
        self._callers.pop(caller.channel.fileno(), None)
        for number in list(caller.seats):
            self._leave(caller, number)
        if caller.board is not None:
            caller.board.close()
        caller.channel.sock.close()

    # The loop ---------------------------------------------------------------------------------------------------------

    def serve(self) -> None:
        """Until `stop`."""
        self._supervisor.run(self._loop)
        self._close()

    def _loop(self) -> None:
        prefer_short_slices()
        watched = 0.0
        while not self._stopping:
            self._take_answers()
            now = time.monotonic()
            due = self._dispatch(Moment(now, self._spare_s, here=not self._answers))
            self._send()
            if now - watched > WATCH_S:
                watched = now
                for answers in self.runtime.overdue(now, self._act_s):
                    self._answer(answers)
            self._listen(WATCH_S if due is None else min(max(due - time.monotonic(), 0.0), WATCH_S))

    def _dispatch(self, moment: Moment) -> float | None:
        """Start what is due; when to look again."""
        if (self._trying is not None or self._alone) and self.runtime.given_up is None:
            return self._dispatch_alone(moment)
        self._supervisor.enter()
        try:
            return self.runtime.dispatch(moment, self._live)
        finally:
            self._supervisor.leave()

    def _dispatch_alone(self, moment: Moment) -> None:
        """Who is to be answered alone is told so first: if that is the last that is heard of this replica, it is known
        why."""
        for lane in self.runtime.lanes.values():
            if self._trying is not None and lane.asked_alone:
                lane.dispatch(moment, self._live)
        if self._trying is None and not any(lane.in_flight for lane in self.runtime.lanes.values()):
            seat = self._trying = self._alone.popleft()
            seat.caller.outbox.append(Trying(seat.number))
            with contextlib.suppress(Closed):
                seat.caller.flush()
            lane = self.runtime.lanes[seat.request.stage]
            lane.put_alone(seat.request)
            lane.dispatch(moment, self._live)

    def _spare_s(self, now: float) -> float:
        return min((caller.spare_s(now) for caller in self._callers.values() if caller.seats), default=0.0)

    def stop(self) -> None:
        """From any thread."""
        self._stopping = True
        self._waker.wake()

    def _close(self) -> None:
        self._stopping = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for caller in list(self._callers.values()):
            self._hang_up(caller)
        self.runtime.close(LimitsCfg())

    def _listen(self, seconds: float) -> None:
        """Wait so long for something to happen, and take in what callers say."""
        poll = select.poll()
        poll.register(self._waker.fd, select.POLLIN)
        for fd, caller in self._callers.items():
            poll.register(fd, select.POLLIN | (select.POLLOUT if caller.waits else 0))
        ready = [fd for fd, _ in poll.poll(1000.0 * seconds)]
        self._waker.clear()
        while self._arrived:
            caller = Caller(self._arrived.popleft())
            self._callers[caller.channel.fileno()] = caller
        now = time.monotonic()
        for fd in ready:
            caller_ = self._callers.get(fd)
            if caller_ is not None:
                try:
                    for message in caller_.channel.receive(block=False):
                        self._take_in(caller_, message, now)
                except (Closed, ValueError, KeyError, TypeError, IndexError) as problem:
                    if not isinstance(problem, Closed):
                        log.warning("a caller was sent away: it says what nobody understands (%s)", problem)
                    self._hang_up(caller_)

    def _take_in(self, caller: Caller, message: Any, now: float) -> None:
        if type(message) is list:
            assert caller.board is not None
            caller.heard(len(message), now)
            for number in message:
                seat = caller.seats[number]
                layout = seat.request.task.layout
                assert layout is not None
                seat.request.see(caller.board.columns(layout), seat.row)
                self._ask(seat, now)
        elif type(message) is Asks:
            caller.heard(len(message.slots), now)
            for number, shown in zip(message.slots, message.shown or (), strict=True):
                seat = caller.seats[number]
                seat.request.show(shown)
                self._ask(seat, now)
        elif type(message) is Take:
            task = self._tasks[message.trial.task]
            caller.seats[message.seat] = Seat(caller, message, task, self.runtime.first_stage)
            self._live[task.key] = self._live.get(task.key, 0) + 1
        elif type(message) is Shows:
            caller.board = SharedBoard.seen(message.board)
            caller.outbox.append(Sees(caller.board is not None))
        elif type(message) is Leave:
            self._leave(caller, message.seat)
        else:
            raise ValueError(f"found a {type(message).__name__}")

    def _leave(self, caller: Caller, number: int) -> None:
        seat = caller.seats.pop(number, None)
        if seat is not None:
            seat.ticket += 1
            self.runtime.drop(seat)
            self._alone = deque(other for other in self._alone if other is not seat)
            self._trying = None if self._trying is seat else self._trying
            self._live[seat.request.task.key] -= 1

    def _send(self) -> None:
        for caller in list(self._callers.values()):
            try:
                caller.flush()
            except Closed:
                self._hang_up(caller)

    # Forwards ---------------------------------------------------------------------------------------------------------

    def _ask(self, seat: Seat, now: float) -> None:
        seat.ticket += 1
        seat.asks = True
        request = seat.request.ask(seat.ticket, now)
        if self.runtime.given_up is not None:
            self._answer(Answers.failed([request], self.runtime.given_up))
        elif seat.alone:
            self._alone.append(seat)
        else:
            self.runtime.lanes[request.stage].put(request)

    def _deliver(self, lane: Lane, answers: Answers) -> None:
        """On the thread that ran the forward."""
        self._answers.append((lane, answers, time.monotonic()))
        self._waker.wake()

    def _take_answers(self) -> None:
        while self._answers:
            lane, answers, at = self._answers.popleft()
            if lane.retired:
                continue
            seconds, found = at - (lane.started_at or at), answers
            with self._lock:
                lane.landed(seconds)
            if self._act_s is not None and seconds > self._act_s:
                found = self.runtime.too_slow(lane, self._act_s, answers)
            if found is not None:
                self._answer(found)

    def _answer(self, answers: Answers) -> None:
        """Tell callers what a policy has decided, all of one caller and task in one message."""
        if self._trying is not None and any(request.owner is self._trying for request in answers.requests):
            self._trying = None
        acting, chunks, asking, ended = decide(answers)
        alike: dict[tuple[Caller, Task], list[int]] = {}
        for row, request in enumerate(acting):
            if current(request):
                request.owner.asks = False
                alike.setdefault((request.owner.caller, request.task), []).append(row)
        for (caller, _), rows in alike.items():
            seats = [acting[row].owner.number for row in rows]
            if isinstance(chunks, np.ndarray):
                caller.outbox.append(Run(seats, chunks if len(rows) == len(chunks) else chunks[rows]))
                self._steps += len(rows) * chunks.shape[1]
                continue
            for number, row in zip(seats, rows, strict=True):
                caller.outbox.append(Run([number], chunks[row]))
                self._steps += len(chunks[row].actions)
        for request in asking:
            if current(request):
                self._ask(request.owner, time.monotonic())
        for request, outcome, error in ended:
            if current(request):
                request.owner.asks = False
                request.owner.caller.outbox.append(Finish(request.owner.number, outcome, error))

    # What is told -----------------------------------------------------------------------------------------------------

    def told(self) -> Told:
        """What has been done since the last call. From any thread."""
        with self._lock:
            now = time.monotonic()
            news = {}
            for stage, stats in self.runtime.stats.items():
                news[stage], before = LaneStats(), self._told[stage]
                for name, value in vars(stats).items():
                    if name != "found":
                        setattr(news[stage], name, value - getattr(before, name))
                        setattr(before, name, value)
                news[stage].found, stats.found = stats.found, type(stats.found)()
            steps, self._steps = self._steps, 0
            seconds, self._told_at = now - self._told_at, now
            return Told(news, steps, seconds, self.runtime.given_up)
