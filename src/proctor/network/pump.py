"""Forwards for seats: the lanes of a run, driven by an event loop instead of an engine.

Everything but the forwards themselves happens on the loop's thread.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from proctor.config.models import LimitsCfg
from proctor.network.seats import Seat
from proctor.policies.options import PolicyOptions
from proctor.policies.protocol import AnyPolicy
from proctor.rollout.ask.agents import AgentRuntime
from proctor.rollout.ask.decide import Decided, decide
from proctor.rollout.ask.lanes import Lane, Moment
from proctor.rollout.ask.requests import Request
from proctor.rollout.ask.runner import Answers

WATCH_S = 0.25
WARM_S = 1.0
"""A caller that has not asked for so long is not waited for."""
MOST_ROWS = 64
"""Of a forward, where neither the agent nor its policy says."""


class Pump:
    """The agent at work. `act_s`: the limit for one forward, None for none."""

    def __init__(self, name: str, load: Callable[[], AnyPolicy], options: PolicyOptions, act_s: float | None):
        self.runtime = AgentRuntime(name, load, options, MOST_ROWS, self._deliver)
        self._act_s = act_s
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._asked_at: dict[Any, dict[int, float]] = {}

    async def ask(self, seat: Seat, observation: Any, caller: int) -> Decided:
        """What the policy decides for a seat's trial alone, in a forward with whoever else asks for its stage.
        `observation`: its leaves, or an object where the task has no layout."""
        request = seat.request
        if self.runtime.given_up is not None:
            return decide(Answers.failed([request], self.runtime.given_up))
        self._loop = asyncio.get_running_loop()
        now = time.monotonic()
        self._asked_at.setdefault(request.task.key, {})[caller] = now
        seat.ticket += 1
        request.show(observation)
        seat.future = self._loop.create_future()
        self.runtime.lanes[request.stage].put(request.ask(seat.ticket, now))
        self._look()
        decided = await seat.future
        seat.request.columns = ()  # a seat is kept long after its trial's last request; its images need not be
        return decided

    def forget(self, caller: int) -> None:
        """The caller will not ask again: nobody waits for it."""
        for callers in self._asked_at.values():
            callers.pop(caller, None)
        self._look()

    async def watch(self) -> None:
        """Deal with forwards that outlast the limit. Runs until it is cancelled."""
        while True:
            await asyncio.sleep(WATCH_S)
            for answers in self.runtime.overdue(time.monotonic(), self._act_s):
                _settle(answers)
            self._look()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.runtime.close(LimitsCfg())

    def _look(self) -> None:
        """Start what is due, and come back when more will be."""
        if self._loop is None:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = time.monotonic()
        warm = {key: sum(now - at < WARM_S for at in callers.values()) for key, callers in self._asked_at.items()}
        due = self.runtime.dispatch(Moment(now, lambda _: 0.0, here=False), warm)
        if due is not None:
            self._timer = self._loop.call_later(max(0.0, due - now), self._look)

    def _deliver(self, lane: Lane, answers: Answers) -> None:
        """On the thread that ran the forward."""
        assert self._loop is not None
        with suppress(RuntimeError):  # the server has been stopped: nobody wants the answer
            self._loop.call_soon_threadsafe(self._landed, lane, answers, time.monotonic())

    def _landed(self, lane: Lane, answers: Answers, at: float) -> None:
        if lane.retired:
            return
        seconds, found = at - (lane.started_at or at), answers
        lane.landed(seconds)
        if self._act_s is not None and seconds > self._act_s:
            found = self.runtime.too_slow(lane, self._act_s, answers)
        if found is not None:
            _settle(found)
        self._look()


def _settle(answers: Answers) -> None:
    """Hand each seat what was decided for it, unless it has moved on."""
    acting, chunks, asking, ended = decide(answers, check=False)
    for row, request in enumerate(acting):
        _hand(request, Decided([request], chunks[row : row + 1], [], []))
    for request in asking:
        _hand(request, Decided([], [], [request], []))
    for one in ended:
        _hand(one.request, Decided([], [], [], [one]))


def _hand(request: Request, decided: Decided) -> None:
    seat: Seat = request.owner
    if seat.ticket == request.ticket and seat.waits and seat.future is not None:
        seat.future.set_result(decided)
