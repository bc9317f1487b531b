"""The program of a policy host: one agent's policy in an interpreter of its own, which its keeper calls. It inherits a
socket, and memory for what is large.

The engine speaks first: a `hello` says which protocol it speaks, where modules lie, and how the policy is made. The
host answers with its own protocol, version and interpreter, and with the policy's stages; or with a sentence that says
why there is no policy. From then on every message is a call (`reset`, `tokens`, `forward`, `close`) and has one answer.
In between the host may ask back, for what most policies never need: the trials' generators, and what a task is told in
words. Where what was made is no policy but an `Answering`, every message is a call to that, until `close`.

A policy keeps nothing between calls. State, generators and observations come with each call, and what has become of
the state and the generators goes back, so a host that dies can be replaced by another at any time.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import socket
import sys
from types import SimpleNamespace
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from proctor_host import spaces
from proctor_host.board import Tray
from proctor_host.channel import Channel, Closed
from proctor_host.child import greeting, offer, serve_modules
from proctor_host.codec import PROTOCOL, Codec
from proctor_host.copies import end_if_copied, forks
from proctor_host.errors import BREAKS, InputError, explain
from proctor_host.extras import import_object, namespace

_PROTOCOL = "proctor.policies.protocol"
OFFERED = {
    **dict.fromkeys(
        (
            "Actions", "Batch", "Execute", "Fail", "Goto", "Idle", "Policy", "SpaceInfo", "Stage", "StageOutput",
            "StagedPolicy", "Unavailable",
        ),
        _PROTOCOL,
    ),
    "LeftPad": "proctor.policies.padding",
    "InputError": "proctor_host.errors",
}  # fmt: skip
"""What `proctor` and `proctor.policies` have for a policy in a host."""
FURTHER = {"left_pad": "proctor.policies.padding", "torch_normal": "proctor.policies.noise"}
"""What `proctor.policies` has beside that."""


def main(socket_fd: int, calls_fd: int, answers_fd: int) -> None:
    """Returns when the engine says so, or is gone. The files are a socket, and memory for what is large in calls and in
    answers."""
    for fd in (socket_fd, calls_fd, answers_fd):
        os.set_inheritable(fd, False)
    trays = Tray(answers_fd), Tray(calls_fd)
    channel = Channel(socket.socket(fileno=socket_fd), Codec(False, {}, trays))
    with contextlib.suppress(Closed):
        (hello,) = channel.first()
        before = forks()
        os.register_at_fork(after_in_child=channel.sock.close)
        served = _made(channel, hello)
        if served is not None:
            while served.answer():
                end_if_copied(before)


class Answering:
    """What a host may serve in the place of a policy: an object that answers calls of plain data and arrays."""

    def about(self) -> dict[str, Any]:
        """What the engine is told of it once it is made."""
        return {}

    def answer(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a call, both made of what the codec can say. What it raises is told."""
        raise NotImplementedError


def _made(channel: Channel, hello: Mapping[str, Any]) -> Served | ServedObject | None:
    """The policy, once the engine has been told of it; None, with the reason told, where there is none."""
    if hello.get("protocol") != PROTOCOL:
        theirs = f"proctor {hello.get('engine', 'of unknown version')} speaks {hello.get('protocol')}"
        channel.send([{**greeting(), "refused": f"this host speaks protocol {PROTOCOL}, {theirs}"}])
        return None
    try:
        sys.path.extend([folder for folder in hello["paths"] if folder not in sys.path])
        serve_modules(hello["root"])
        offer("proctor", OFFERED)
        offer("proctor.policies", {**OFFERED, **FURTHER})
        made = _load(channel, hello)
        if isinstance(made, Answering):
            channel.send([{**greeting(), "about": made.about()}])
            return ServedObject(channel, made)
        served = Served(channel, made)
        channel.send([{**greeting(), "stages": served.stages(), "row_by_row": served.row_by_row}])
        return served
    except BREAKS as problem:
        said = str(problem) if isinstance(problem, InputError) else None
        channel.send([{**greeting(), "refused": explain(problem), "said": said}])
        return None


def _load(channel: Channel, hello: Mapping[str, Any]) -> Any:
    def briefing(task: str) -> Callable[[], Any]:
        def told() -> Any:
            channel.send([{"ask": "briefing", "task": task}])
            return SimpleNamespace(instruction=_heard(channel)["instruction"])

        return told

    known = importlib.import_module(_PROTOCOL).SpaceInfo(
        {task: spaces.from_plain(space) for task, space in hello["observation"].items()},
        {task: spaces.from_plain(space) for task, space in hello["action"].items()},
        {task: briefing(task) for task in hello["briefed"]},
    )
    agent, options = namespace(hello["agent"]), namespace(hello["options"])
    return import_object(hello["make"])(agent, options, known)


class ServedObject:
    """An object that is no policy, and the engine's calls to it."""

    def __init__(self, channel: Channel, made: Answering):
        self._channel, self._made = channel, made

    def answer(self) -> bool:
        """Answer one call; whether more may come."""
        call = _heard(self._channel)
        if call["call"] == "close":
            self._channel.send([{}])
            return False
        try:
            found = self._made.answer(call)
        except BREAKS as problem:
            found = {"raised": explain(problem), "said": str(problem) if isinstance(problem, InputError) else None}
        self._channel.send([found])
        return True


class Served:
    """A policy, and the engine's calls to it."""

    def __init__(self, channel: Channel, policy: Any):
        self._channel, self._policy = channel, policy
        self._api = importlib.import_module(_PROTOCOL)
        self._staged = isinstance(policy, self._api.StagedPolicy)
        self.row_by_row = not self._staged and bool(policy.row_by_row)

    def stages(self) -> list[Any] | None:
        """What a policy of several stages declares; None for one that has none."""
        if not self._staged:
            return None
        return [
            [one.name, one.max_batch, one.max_wait_s, one.pad_to]
            + ([None] if one.tokens is None else [[one.tokens.length, one.tokens.value]])
            for one in self._policy.stages
        ]

    def answer(self) -> bool:
        """Answer one call; whether more may come."""
        call = _heard(self._channel)
        call["trials"] = [call["trials"][row] for row in call["rows"]]
        try:
            found = getattr(self, f"_{call['call']}")(call)
        except BREAKS as problem:
            found = {"raised": explain(problem)}
        self._channel.send([found])
        return call["call"] != "close"

    def _reset(self, call: Mapping[str, Any]) -> dict[str, Any]:
        return {"state": plain_tree(self._policy.reset(call["trials"]))}

    def _tokens(self, call: Mapping[str, Any]) -> dict[str, Any]:
        return {"tokens": [int(token) for token in self._policy.tokens(call["trials"][0])]}

    def _close(self, call: Mapping[str, Any]) -> dict[str, Any]:
        self._policy.close()
        return {}

    def _forward(self, call: Mapping[str, Any]) -> dict[str, Any]:
        rngs = _Rngs(self._channel, len(call["trials"]), call["rngs"])
        batch = self._api.Batch(call["observation"], call["state"], rngs, call["trials"], call["tokens"], call["mask"])
        if self._staged:
            output = self._policy.forward(call["stage"], batch)
            found: dict[str, Any] = {"decisions": [_said(one) for one in output.decisions]}
            state = output.state
        else:
            answer = self._policy.act(batch)
            own = isinstance(answer, self._api.Actions)
            found = {"actions": np.asarray(answer.actions if own else answer)}
            state = answer.state if own else None
        return {**found, "state": plain_tree(state), "rngs": rngs.after()}


class _Rngs(Sequence[Any]):
    """The rows' generators. The engine is asked for them when the first is; those of it that are sent with a call are
    there at once."""

    def __init__(self, channel: Channel, rows: int, known: Any):
        self._channel, self._rows, self._known = channel, rows, known
        self._made: dict[int, np.random.Generator] = {}

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(self._rows))]
        if row < 0:
            row += self._rows
        if not 0 <= row < self._rows:
            raise IndexError(row)
        if self._known is None:
            self._channel.send([{"ask": "rngs"}])
            self._known = _heard(self._channel)["rngs"]
        which = self._known["rows"][row]
        if which not in self._made:
            self._made[which] = generator(self._known["states"][which])
        return self._made[which]

    def after(self) -> Any:
        """What has become of those that were asked for; None where none was."""
        return {str(which): state_of(rng) for which, rng in self._made.items()} if self._made else None


def generator(state: Sequence[int]) -> np.random.Generator:
    """The generator that `state_of` described."""
    number, step, held, half = state
    bits = np.random.PCG64(0)
    bits.state = {
        "bit_generator": "PCG64", "state": {"state": number, "inc": step}, "has_uint32": held, "uinteger": half,
    }  # fmt: skip
    return np.random.Generator(bits)


def state_of(rng: np.random.Generator) -> list[int]:
    """A generator of a trial as four whole numbers."""
    state: Any = rng.bit_generator.state
    inner = state["state"]
    return [int(inner["state"]), int(inner["inc"]), int(state["has_uint32"]), int(state["uinteger"])]


def plain_tree(tree: Any) -> Any:
    """A tree of arrays as the codec takes it: plain dicts, tuples and lists of numpy's arrays. Raises TypeError for a
    leaf that is none."""
    if tree is None:
        return None
    if isinstance(tree, Mapping):
        return {key: plain_tree(value) for key, value in tree.items()}
    if isinstance(tree, (tuple, list)):
        inside = [plain_tree(value) for value in tree]
        return inside if isinstance(tree, list) else tuple(inside)
    leaf = np.asarray(tree)
    if leaf.dtype.hasobject:
        raise TypeError(f"the policy's state has a {type(tree).__name__}; in a runtime it is made of arrays of numbers")
    return leaf


def _said(decision: Any) -> list[Any]:
    """A decision as data: its kind, then its fields, actions first."""
    fields = list(decision)
    if type(decision).__name__ == "Execute":
        fields[0] = np.asarray(fields[0])
    return [type(decision).__name__, *fields]


def _heard(channel: Channel) -> dict[str, Any]:
    (said,) = channel.first()
    return said
