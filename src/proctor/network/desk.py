"""Answers to requests: of our own client, trial by trial, and of any other, where a connection is one long episode."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from proctor.errors import InputError
from proctor.network import fields
from proctor.network.front import Refusal
from proctor.network.presets import Naming, as_bytes
from proctor.network.pump import Pump
from proctor.network.seats import Seat, Seats
from proctor.network.wire import WireError, as_array
from proctor.rollout.ask.decide import Decided
from proctor.rollout.tasks import Task
from proctor.spaces import EntryPath
from proctor_host.messages import Chunk
from proctor_host.trials import Trial

Tasks = Mapping[str, Task]


class Stream(NamedTuple):
    """The episode of a caller that says nothing of episodes. `told`: what it is to do, where callers say that."""

    seat: Seat
    told: str | None


@dataclass(frozen=True)
class Callers:
    """How callers speak: what they call the entries of an observation, and which task they mean by an instruction."""

    naming: Naming = field(default_factory=Naming)
    worded: Mapping[str, str] = field(default_factory=dict)


class AgentDesk:
    """One agent for all callers. `tasks` are those that it knows; a caller that does not say which means the one that
    has its instruction, else the first."""

    def __init__(self, pump: Pump, tasks: Tasks, metadata: dict[str, Any], callers: Callers, most_trials: int):
        self.pump, self.tasks, self.metadata = pump, tasks, metadata
        self.naming, self._worded = callers.naming, callers.worded
        self.seats = Seats(most_trials)
        self._streams: dict[int, Stream] = {}
        self._base_seed = int(metadata["base_seed"])

    async def answer(self, caller: int, message: dict[Any, Any]) -> dict[str, Any]:
        return await (self._trial if fields.TRIAL in message else self._stream)(caller, message)

    def left(self, caller: int) -> None:
        self._streams.pop(caller, None)
        self.seats.hung_up(caller)
        self.pump.forget(caller)

    async def _trial(self, caller: int, message: dict[Any, Any]) -> dict[str, Any]:
        """Of Proctor's own client."""
        session, trial, asked = _identity(message)
        task, stage, lanes = self.tasks.get(trial.task), message.get(fields.STAGE), self.pump.runtime.lanes
        if task is None:
            raise Refusal(f'unknown task "{trial.task}"; this server knows {", ".join(self.tasks)}')
        if stage not in lanes:
            raise Refusal(f"unknown stage {stage!r}; the policy's stages are {', '.join(lanes)}")
        observation = observation_of(task, message, self.naming)
        self.seats.called(session, caller)
        if asked == 0:
            seat = Seat(trial, task, stage)
            self.seats.take(session, trial, seat)
        else:
            found = self.seats.find(session, trial)
            if found is None or found.asked != asked:
                return {fields.RESTART: f"the server does not know trial {trial.key} as one that asked {asked} times"}
            seat = found
        seat.asked += 1
        seat.request.stage = stage
        reply = _reply(await self.pump.ask(seat, observation, caller))
        if fields.ACTIONS not in reply and fields.GOTO not in reply:
            self.seats.leave(session, trial)
        return reply

    async def _stream(self, caller: int, message: dict[Any, Any]) -> dict[str, Any]:
        """Of any other client."""
        began = time.monotonic()
        seat = self._seat_of(caller, self.naming.told(message))
        observation = observation_of(seat.request.task, message, self.naming)
        while True:
            decided = await self.pump.ask(seat, observation, caller)
            if decided.acting:
                timing = {"infer_ms": 1000.0 * (time.monotonic() - began)}
                return {fields.ACTIONS: _actions(decided), "server_timing": timing}
            if decided.ended:
                raise Refusal(decided.ended[0].error)

    def _seat_of(self, caller: int, told: str | None) -> Seat:
        """A caller's episode goes on until it is told something else."""
        stream = self._streams.get(caller)
        if stream is None or stream.told != told:
            name = self._worded.get(told or "", next(iter(self.tasks)))
            trial = Trial(self.metadata["agent"], name, caller, self._base_seed + caller)
            stream = Stream(Seat(trial, self.tasks[name], self.pump.runtime.first_stage), told)
            self._streams[caller] = stream
        return stream.seat


def _reply(decided: Decided) -> dict[str, Any]:
    if decided.acting:
        return {fields.ACTIONS: _actions(decided), fields.THEN: decided.acting[0].stage}
    if decided.asking:
        return {fields.GOTO: decided.asking[0].stage}
    _, outcome, error = decided.ended[0]
    return {fields.ERROR if outcome.scored else fields.RESTART: error}


def _actions(decided: Decided) -> np.ndarray:
    """The one chunk of actions that was decided on, as the policy gave it."""
    chunk = decided.chunks[0]
    return np.ascontiguousarray(chunk.actions if isinstance(chunk, Chunk) else chunk)


def _identity(message: dict[Any, Any]) -> tuple[str, Trial, int]:
    """Session, trial and how often it has asked. Raises Refusal where something is missing or of another kind."""
    told, seed = message[fields.TRIAL], message.get(fields.SEED)
    kinds = {"session": str, "agent": str, "task": str, "index": int, "asked": int}
    if not isinstance(told, dict) or any(type(told.get(name)) is not kind for name, kind in kinds.items()):
        raise Refusal(f"found {fields.TRIAL} {told!r}; expected a map with {', '.join(kinds)}")
    if type(seed) is not int or min(seed, told["index"], told["asked"]) < 0:
        raise Refusal(f"found {fields.SEED} {seed!r} and {fields.TRIAL} {told!r}; expected whole numbers from 0 on")
    return told["session"], Trial(told["agent"], told["task"], told["index"], seed), told["asked"]


def observation_of(task: Task, message: dict[Any, Any], naming: Naming) -> Any:
    """The observation of a request, as `Request.show` wants it. Raises Refusal where an entry is missing or does not
    fit."""
    if task.layout is None:
        return _object(task.observation_space, message, (), naming)
    return [
        _array(message, leaf.path, leaf.shape, leaf.dtype, naming).astype(leaf.dtype, copy=False)
        for leaf in task.layout.leaves
    ]


def _object(space: Any, message: dict[Any, Any], path: EntryPath, naming: Naming) -> Any:
    """An observation that has text in it, put together again."""
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        return {name: _object(part, message, (*path, name), naming) for name, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_object(part, message, (*path, i), naming) for i, part in enumerate(space.spaces))
    if not isinstance(space, spaces.Text):
        return _array(message, path, tuple(space.shape or ()), np.dtype(space.dtype), naming)[()]
    return _text(message, naming.key(path))


def _text(message: dict[Any, Any], key: str) -> str:
    text = _value(message, key)
    if not isinstance(text, str):
        raise Refusal(f"{key} is a {type(text).__name__}; expected text")
    return text


def _value(message: dict[Any, Any], key: str) -> Any:
    if key not in message:
        sent = ", ".join(sorted(str(k) for k in message if not str(k).startswith("proctor/"))) or "nothing"
        raise Refusal(f'the observation has no "{key}"; found {sent}')
    return message[key]


def _array(message: dict[Any, Any], path: EntryPath, shape: tuple[int, ...], dtype: Any, naming: Naming) -> np.ndarray:
    key = naming.key(path)
    try:
        if naming.is_text(path):
            return as_bytes(_text(message, key), shape, dtype)
        array = as_array(_value(message, key))
    except (WireError, InputError) as problem:
        raise Refusal(f"{key}: {problem}") from None
    if array.shape != shape:
        raise Refusal(f"{key} has shape {array.shape}; expected {shape}")
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        raise Refusal(f"{key} has dtype {array.dtype}; expected {dtype}")
    return array
