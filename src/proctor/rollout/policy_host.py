"""The engine's end of a policy host: a process of another interpreter, behind a keeper as workers are."""

from __future__ import annotations

import logging
import os
import secrets
import select
import socket
import subprocess
import textwrap
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from proctor import __version__
from proctor.errors import InputError, RunError
from proctor.policies.protocol import SpaceInfo
from proctor.rollout.backends.channel import ending_of
from proctor.rollout.backends.host import interpreter_of
from proctor.rollout.backends.process import END_SECONDS, MARK, end_kept, environment_of
from proctor.runtimes import Located
from proctor_host.board import Tray
from proctor_host.channel import Channel, Closed
from proctor_host.codec import PROTOCOL, Codec
from proctor_host.errors import Explained
from proctor_host.output import last_lines, open_log

if TYPE_CHECKING:
    from proctor.rollout.hosted import Housing

log = logging.getLogger("proctor")

LOAD_SECONDS = 3600.0
"""To load a policy, which may be large and far away."""
SLACK_S = 1.0
"""The engine deals with a slow forward when its limit is over; where it cannot, since it waits itself, the host is
ended so much later."""
CLOSE_SECONDS = 20.0
_FIRST = "from proctor_host.keeper import main; main('proctor_host.policies')"


class Died(RuntimeError):
    """A policy's process is gone."""


class PolicyHost:
    """One process with one policy, or with another object that answers calls (`proctor_host.policies.Answering`), which
    `told` then names with `who` it is and `whose` process for errors. Making it waits until that is loaded; raises
    InputError, with what its loader says, where it cannot be."""

    def __init__(self, there: Located, told: Mapping[str, Any], spaces: SpaceInfo, housing: Housing):
        self._spaces, self._housing, self._label = spaces, housing, there.label
        self._who = told.get("who") or f'agent "{told["agent"]["name"]}"'
        self._whose = told.get("whose", "the policy's")
        self._mark = secrets.token_hex(16)
        self.greeting: dict[str, Any] = {}
        interpreter = interpreter_of(there)
        ours, theirs = socket.socketpair()
        for sock in (ours, theirs):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self._calls, self._answers = Tray.create(), Tray.create(copies=True)
        self._channel = Channel(ours, Codec(False, {}, (self._calls, self._answers)))
        files = (theirs.fileno(), self._calls.fd, self._answers.fd)
        log = subprocess.DEVNULL if housing.folder is None else open_log(housing.folder)
        try:
            self._process = subprocess.Popen(
                interpreter.command(_FIRST, *map(str, (*files, os.getpid()))), pass_fds=files,
                env=environment_of(interpreter.environment) | {MARK: self._mark}, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, process_group=0,
            )  # fmt: skip
        except OSError as problem:
            self._let_go()
            raise RunError(f"a policy host in {there.label} cannot be started: {problem}") from problem
        finally:
            theirs.close()
            if log >= 0:
                os.close(log)
        try:
            self._begin(interpreter, told)
        except BaseException:
            self.end()
            raise

    def _begin(self, interpreter: Any, told: Mapping[str, Any]) -> None:
        first = {
            "protocol": PROTOCOL,
            "engine": __version__,
            "root": interpreter.root,
            "paths": list(interpreter.paths),
        }
        try:
            self._channel.send([{**first, **told}])
            self.greeting = self._heard(LOAD_SECONDS, dict)
        except (Died, Closed) as problem:
            how = ending_of(self._process.wait())
            said = "" if self._housing.folder is None else last_lines(self._housing.folder)
            more = f"\nThe last lines of workers.log:\n{textwrap.indent(said, '  ')}" if said else ""
            raise InputError(f"{self._who} cannot be loaded in {self._label}: its process {how}{more}") from problem
        if (found := self.greeting.get("protocol")) != PROTOCOL:
            raise InputError(f"{self._label} speaks protocol {found}, proctor {__version__} speaks {PROTOCOL}")
        if "refused" in self.greeting:
            log.warning("%s cannot be loaded in %s: %s", self._who, self._label, self.greeting["refused"])
            reason = self.greeting.get("said") or self.greeting["refused"].split("\n", 1)[0]
            raise InputError(f"{self._who} cannot be loaded in {self._label}: {reason}")
        self.stages = self.greeting.get("stages")

    def gone(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    def call(self, call: dict[str, Any], rngs: Callable[[], Any]) -> dict[str, Any]:
        """The answer to a call; `rngs` gives the generators, should the policy ask for them. Raises Died where the
        process ends or does not answer in time, Explained for what the policy raises."""
        limit_s = CLOSE_SECONDS if call["call"] == "close" else self._housing.act_s
        try:
            self._channel.send([call])
            answer = self._heard(None if limit_s is None else limit_s + SLACK_S, rngs)
        except Closed:
            self._wait()
            how = ending_of(self._process.wait())
            raise Died(f"{self._whose} process in {self._label} {how} in its own call") from None
        if answer.get("said") is not None:
            raise InputError(answer["said"])
        if "raised" in answer:
            raise Explained(answer["raised"])
        return answer

    def _heard(self, limit_s: float | None, rngs: Callable[[], Any]) -> dict[str, Any]:
        """The next answer; what the host asks back meanwhile is told."""
        until = None if limit_s is None else time.monotonic() + limit_s
        while True:
            self._await(until, limit_s)
            (said,) = self._channel.first()
            if not isinstance(said, dict):
                raise Closed
            if "ask" not in said:
                return said
            if said["ask"] == "rngs":
                self._channel.send([{"rngs": rngs()}])
            else:
                self._channel.send([{"instruction": self._spaces.instruction(said["task"], {})}])

    def _await(self, until: float | None, limit_s: float | None) -> None:
        if until is None:
            return
        poll = select.poll()
        poll.register(self._channel.sock, select.POLLIN)
        if not poll.poll(max(1000.0 * (until - time.monotonic()), 0.0)):
            self.end()
            raise Died(f"{self._whose} process in {self._label} gave no answer within {limit_s:g} s and was ended")

    def _wait(self) -> None:
        """Until the process has ended, which its end of the socket has."""
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.end()

    def end(self) -> None:
        """End the process and whatever it has started. May be called again, and on another thread."""
        end_kept(self._process, self._mark, self.greeting)
        self._let_go()

    def _let_go(self) -> None:
        self._channel.sock.close()
        self._calls.close()
        self._answers.close()
