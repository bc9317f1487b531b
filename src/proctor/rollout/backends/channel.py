"""The engine's end of a worker that is spoken to through a channel: a process of this machine, or one elsewhere.

What the two have in common is what they say, and how the engine judges from a worker's pulse whether it hangs, and
whose code was running when it died."""

from __future__ import annotations

import abc
import logging
import signal
import time
from collections.abc import Mapping
from typing import Any

from proctor import __version__
from proctor.errors import InputError
from proctor.rollout.backends.base import Lost, Worker
from proctor.rollout.finishing import finished, is_of
from proctor_host.beside import Beside
from proctor_host.cfg import WorkerCfg
from proctor_host.channel import Channel, Closed
from proctor_host.codec import PROTOCOL
from proctor_host.limits import ACTING, IDLE, LOADING, NOBODYS, limit_of
from proctor_host.messages import FREED, Asks, Close, Command, Done, Ended, Event, Fault, Left, Start, Unclosed
from proctor_host.trials import Trial

log = logging.getLogger("proctor")

START_SECONDS = 120.0
CLOSE_SECONDS = 30.0
HEAR_SECONDS = 2.0
"""A worker that is asked to close may go on with a call for so long: then it has not heard, and is ended."""
_DURING = {ACTING: " in its policy", LOADING: " while it loaded a policy"}
"""What a worker was at when it died, where that was no environment."""


class ChannelWorker(Worker):
    """`cfg` is the engine's, with the folder of the run. Whoever makes one sets `_channel`."""

    called: str
    """How errors speak of it."""
    _channel: Channel

    def __init__(self, cfg: WorkerCfg, slots: int):
        self.slots, self._cfg = slots, cfg
        self.greeting: Mapping[str, Any] = {}
        """What the worker has said of its interpreter; empty while it starts."""
        self._outbox: list[Any] = []
        self._starts: dict[int, Start] = {}
        """By slot: the trial that it was last told to begin."""
        self._parted: dict[Trial, Start] = {}
        """Trials that have ended, whose slots may have others, and of which a record is to come."""
        self._finishing: Beside[Done | Exception] = Beside()
        """Trials of which the worker has left something to do, while that is done beside the engine's loop."""
        self._closed = False
        self._started = time.monotonic()
        self._closing_since: float | None = None

    # What is said -----------------------------------------------------------------------------------------------------

    def send(self, command: Command) -> None:
        self._outbox.append(command)
        if isinstance(command, Start):
            self._starts[command.slot] = command
        elif isinstance(command, Close):
            self._closing_since = time.monotonic()

    def flush(self) -> None:
        if self._outbox and not self._closed:
            outbox, self._outbox = self._outbox, []
            self._tell(outbox)

    def _tell(self, messages: list[Any]) -> None:
        try:
            self._channel.send(messages)
        except Closed:
            self._closed = True

    def events(self) -> list[Event]:
        found: list[Event] = self._finished(self._finishing.reports())
        while not self._closed:
            try:
                messages = self._channel.receive(block=False)
            except Closed:
                self._closed = True
                break
            for message in messages:
                if type(message) is list:
                    found.append(Asks(message))
                elif type(message) is dict:
                    self._told(message)
                elif type(message) in (Done, Ended, Fault):
                    if not self._believes(message):
                        self._closed = True
                        return found
                    found += self._finish(message) if type(message) is Done else [message]
                else:
                    found.append(message)
            if not messages or self._channel.drained:
                break
        return found + self._finished(self._finishing.close()) if self._closed else found

    def _finish(self, done: Done) -> list[Event]:
        """Have done what the worker has left; the event, where that is nothing. A trial is done once."""
        self._starts.pop(done.slot, None)
        if done.left == Left():
            return [done]
        held = len(done.left.record or b"") + len(done.left.film or b"")
        self._finishing.put(lambda: [_attempt(done, self._cfg)], held)
        return []

    def _finished(self, reports: list[Done | Exception]) -> list[Event]:
        """Those that are finished now. Raises what one of them has raised."""
        for report in reports:
            if isinstance(report, Exception):
                raise report
        return [report for report in reports if isinstance(report, Done)]

    @property
    def finishing(self) -> bool:
        return self._finishing.outstanding > 0

    def _believes(self, said: Done | Ended | Fault) -> bool:
        """Whether a trial has ended that was running, and once. A result must be of the trial that runs in its slot, or
        of one that has left its slot, with its own files, and of the right kinds. A worker of another interpreter
        leaves metrics to the engine."""
        if isinstance(said, Ended):
            start = self._starts.pop(said.slot, None)
            if start is not None:
                self._parted[start.trial] = start
            return start is not None
        if isinstance(said, Fault):
            return said.slot != FREED or self._start_of_parted(said.trial) is not None
        return self._believes_result(said)

    def _believes_result(self, done: Done) -> bool:
        start = self._start_of_parted(done.result.trial) if done.slot == FREED else self._starts.get(done.slot)
        fits = start is not None and is_of(done.result, start)
        return fits and (self.has_policies or not (done.left.measured or done.result.metrics))

    def _start_of_parted(self, trial: Any) -> Start | None:
        """How a trial began that has left its slot, and is heard of once; None for whatever else is said to be one."""
        try:
            return self._parted.pop(trial, None)
        except TypeError:  # made of what can be no key
            return None

    def _told(self, said: Mapping[str, Any]) -> None:
        """The worker's greeting. Raises InputError where it cannot work for this engine."""
        if "refused" in said:
            self.kill()
            first, *more = str(said["refused"]).splitlines() or [""]
            log.error("%s: %s", self.called, "\n".join([first, *more]))
            raise InputError(f"{self.called} refuses to work: {first}")
        self.greeting = said

    def fileno(self) -> int | None:
        return None if self._closed else self._channel.fileno()

    # How it fares -----------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def _running(self) -> tuple[float, int, float]:
        """The worker's pulse: what it is at, for which slot, and for how many seconds, as far as that is known."""

    @abc.abstractmethod
    def _gone(self) -> bool:
        """Whether it has ended, or cannot be reached any more."""

    @abc.abstractmethod
    def _ending(self, during: str, slot: int | None, acting: bool) -> Lost:
        """How it ended, now that it is gone. `during`: what it was at, in words; `slot`: for whom."""

    def _printed(self) -> str:
        """The last lines that workers have printed, where they can be read."""
        return ""

    def lost(self) -> Lost | None:
        if self.finishing:
            return None  # what it has finished counts, whatever became of it
        what, slot, seconds = self._running()
        running = slot if what not in NOBODYS else None
        if self._gone():
            self.kill()
            return self._ending(_DURING.get(what, ""), running, what == ACTING)
        if what == IDLE:
            if self.greeting or time.monotonic() - self._started < START_SECONDS:
                return None
            self.kill()
            return Lost(f"{self.called} did not start within {START_SECONDS:g} s", None, True, said=self._printed())
        who, limit = limit_of(what, self._cfg.limits)
        if limit is None or seconds <= limit:
            return None
        self.kill()
        reason = f"{who} within {limit:g} s; its worker was killed"
        return Lost(reason, running, True, what == ACTING, self._printed())

    def drain(self) -> list[Event]:
        found: list[Event] = []
        while not self._closed and self._will_close():
            found += self.events()
            if lost := self.lost():
                found += [Unclosed(lost.reason)] if lost.hung else []
                break
            time.sleep(0.002)
        self.kill()
        return found + self.events()

    def _will_close(self) -> bool:
        """Whether a worker that was asked to close is about to: one that is still starting, or does not come back from
        a call, has not heard."""
        if self._closing_since is None or not self.greeting:
            return False
        what, _, seconds = self._running()
        waited = time.monotonic() - self._closing_since
        deaf = what != IDLE and seconds > waited
        return waited < (HEAR_SECONDS if deaf else CLOSE_SECONDS)


def _attempt(done: Done, cfg: WorkerCfg) -> Done | Exception:
    try:
        return finished(done, cfg)
    except Exception as problem:
        return problem


def hello(cfg: WorkerCfg, slots: int, **further: Any) -> dict[str, Any]:
    """The first message to a worker. `further`: what it is told of its interpreter."""
    return {
        "protocol": PROTOCOL, "engine": __version__, "slots": slots, "shared": True, "cfg": cfg.plain(),
        "extras": None, "root": None, "paths": [], **further,
    }  # fmt: skip


def ending_of(code: int) -> str:
    """How a process ended, in words."""
    if code < 0:
        try:
            return f"died of {signal.Signals(-code).name}"
        except ValueError:
            return f"died of signal {-code}"
    return f"ended with exit code {code}"
