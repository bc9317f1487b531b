"""The `remote` loader: a policy that runs on a server and speaks openpi's protocol.

A plain server answers actions for observations and knows nothing of episodes. One that announces `proctor: 1` is told
the trial, its seed, its step and the stage, keeps the trial's state and generator, and answers what a local policy
would. What a server cannot be blamed for (a lost connection, silence) voids the attempt; it is no failure of the
policy.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import numpy as np
from pydantic import Field, field_validator, model_validator

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.network import fields
from proctor.network.client import Client, ClientCfg, Reply, ServerError, ServerLost
from proctor.network.wire import WireError, as_array, encode
from proctor.policies.loader import Loader
from proctor.policies.options import MOST_ROWS, PolicyOptions
from proctor.policies.protocol import (
    Batch,
    Decision,
    Execute,
    Fail,
    Goto,
    SpaceInfo,
    Stage,
    StagedPolicy,
    StageOutput,
    State,
    Unavailable,
)
from proctor.policies.stages import ACT
from proctor.registry import did_you_mean
from proctor.spaces import EntryPath, entries_of
from proctor_host.trials import Trial

PIPELINE = ("normalize", "observation_order", "action_scale")


class RemoteOptions(PolicyOptions):
    """`remote` loader: where the server is, what it is sent and what is taken of its answers."""

    pad_to: int | None = Field(default=None, ge=1, le=MOST_ROWS)
    """Nothing is padded here: each row is a request of its own."""
    url: str | None = None
    host: str | None = None
    """None: 127.0.0.1."""
    port: int | None = Field(default=None, ge=1, le=65535)
    """None: 8000."""
    api_key: str | None = Field(default=None, min_length=1)
    """`$NAME`: the value of that environment variable, which then is not written into the run's folder."""
    connections: int = Field(default=16, ge=1, le=10_000)
    """Most requests on their way at once."""
    connect_s: float = Field(default=10.0, gt=0, le=1_000_000)
    timeout_s: float = Field(default=60.0, gt=0, le=1_000_000)
    reconnect_s: float = Field(default=50.0, ge=0, le=1_000_000)
    max_frame_mb: int = Field(default=256, ge=1, le=2048)
    keys: dict[str, str] | None = Field(default=None, min_length=1)
    """Key that is sent -> entry of the observation (nested ones with dots; `observation` for the whole). None: every
    entry as `observation/NAME`."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Sent with every request as it is."""
    instruction_key: str | None = Field(default=None, min_length=1)
    """Under which key the task's instruction is sent, such as `prompt`. None: not at all."""
    instructions: dict[str, str] = Field(default_factory=dict)
    """Task -> what it is told; left out: what the task says of itself."""
    action_key: str = Field(default=fields.ACTIONS, min_length=1)
    replan_steps: int | None = Field(default=None, ge=1, le=1_000_000)
    """Execute so many actions of a chunk, then ask again. None: all."""

    @field_validator("url")
    @classmethod
    def _websocket(cls, url: str | None) -> str | None:
        if url is not None and (urlsplit(url).scheme not in ("ws", "wss") or not urlsplit(url).hostname):
            raise ValueError(f'found "{url}"; expected an address such as ws://127.0.0.1:8000')
        return url

    @model_validator(mode="after")
    def _one_address(self) -> RemoteOptions:
        if self.url is not None and not (self.host is None and self.port is None):
            raise ValueError("found url beside host or port; give one of the two")
        return self

    @property
    def address(self) -> str:
        return self.url or f"ws://{self.host or '127.0.0.1'}:{self.port or 8000}"


class RemoteLoader(Loader):
    """A policy on a server that speaks openpi's protocol."""

    name: ClassVar[str] = "remote"
    Options: ClassVar[type[PolicyOptions]] = RemoteOptions
    needs: ClassVar[tuple[tuple[str, str], ...]] = (("websockets", "remote"), ("msgpack", "remote"))
    row_by_row: ClassVar[bool] = True

    def load(self, agent: AgentCfg, options: RemoteOptions, spaces: SpaceInfo, base: Path | None) -> StagedPolicy:
        where = f'agent "{agent.name}"'
        self._refuse_what_is_the_servers(agent, options, where)
        self.require("websockets")
        self.require("msgpack")
        wires = {task: _wire(task, spaces, options, f'{where}, task "{task}"') for task in spaces.observation}
        client = Client(_client_cfg(options, where))
        try:
            if client.is_proctor:
                _check_offer(client.metadata, wires, spaces, f"{where}: the server at {options.address}")
            return RemotePolicy(client, options, wires, spaces)
        except BaseException:
            client.close()
            raise

    def _refuse_what_is_the_servers(self, agent: AgentCfg, options: RemoteOptions, where: str) -> None:
        if agent.checkpoint is not None:
            raise InputError(
                f"{where} has a checkpoint, but a remote policy has its weights on its server; leave it out"
            )
        found = [name for name in PIPELINE if getattr(options, name) is not None]
        found += ["frame_stack"] * (options.frame_stack > 1)
        if found:
            raise InputError(f"{where}: {', '.join(found)} belong to the served agent's options, not to a remote one's")


def _client_cfg(options: RemoteOptions, where: str) -> ClientCfg:
    key = options.api_key
    if key is not None and key.startswith("$"):
        if key[1:] not in os.environ:
            raise InputError(f"{where}, api_key: the environment variable {key[1:]} is not set")
        key = os.environ[key[1:]]
    return ClientCfg(
        options.address, key, options.connections, options.connect_s, options.timeout_s, options.reconnect_s,
        options.max_frame_mb << 20,
    )  # fmt: skip


@dataclass(frozen=True)
class Wire:
    """How one task's observations are sent: key -> where it lies in the observation."""

    paths: dict[str, EntryPath]
    kinds: dict[str, list[Any]]
    """Key -> dtype and shape."""
    extra: dict[str, Any]
    """What is sent beside them, the same for every step."""

    def row(self, observation: Any, row: int) -> dict[str, Any]:
        if isinstance(observation, list):
            sent = {key: fields.entry(observation[row], path) for key, path in self.paths.items()}
        else:
            sent = {key: np.asarray(fields.entry(observation, path)[row]) for key, path in self.paths.items()}
        return sent | self.extra


def _wire(task: str, spaces: SpaceInfo, options: RemoteOptions, where: str) -> Wire:
    known = _entries(spaces.observation[task], where)
    wanted = options.keys or {fields.key_of(path): name for name, (path, _) in known.items()}
    for key, name in wanted.items():
        if name not in known:
            raise InputError(
                f'{where}: keys.{key} is "{name}", which the observation does not have'
                + did_you_mean(name, known)
                + f" (it has {', '.join(known)})"
            )
    chosen = {key: known[name] for key, name in wanted.items()}
    kinds = {key: fields.kind_of(entry) for key, (_, entry) in chosen.items()}
    extra = dict(options.extra)
    if options.instruction_key is not None:
        told = spaces.instruction(task, options.instructions)
        if told is None:
            example = f'options.instructions: {{"{task}": "..."}}'
            raise InputError(f"{where} says no instruction to send; write one: {example}")
        extra[options.instruction_key] = told
    return Wire({key: path for key, (path, _) in chosen.items()}, kinds, extra)


def _entries(space: Any, where: str) -> dict[str, tuple[EntryPath, Any]]:
    """Path and space of every entry by its dotted name."""
    known: dict[str, tuple[EntryPath, Any]] = {}
    for path, entry in entries_of(space):
        if not fields.sendable(entry):
            raise InputError(f"{where}: an observation of {entry} cannot be sent; expected arrays or text")
        known[".".join(map(str, path)) or fields.OBSERVATION] = (path, entry)
    return known


def _check_offer(metadata: dict[Any, Any], wires: dict[str, Wire], spaces: SpaceInfo, where: str) -> None:
    """Raises InputError where a Proctor server was made for other tasks than this run's."""
    offered = metadata.get("tasks", {})
    for task, wire in wires.items():
        if task not in offered:
            raise InputError(f'{where} knows {", ".join(offered)}, not the task "{task}"; serve a config that has it')
        expected = offered[task]["observation"]
        if wire.kinds != expected:
            raise InputError(
                f'{where} expects {_kinds(expected)} for task "{task}"; this run has {_kinds(wire.kinds)}. Serve the '
                "config of this run"
            )
        acts, wanted = offered[task]["action"], fields.kind_of(spaces.action[task])
        if acts != wanted:
            raise InputError(
                f'{where} acts with {fields.shown(acts)} on task "{task}"; this run wants {fields.shown(wanted)}'
            )


def _kinds(kinds: dict[str, list[Any]]) -> str:
    return ", ".join(f"{key} {fields.shown(kind)}" for key, kind in kinds.items())


class RemotePolicy(StagedPolicy):
    """State of a trial: how often it has asked, its environment steps so far, and how often the server had been lost
    when it began."""

    def __init__(self, client: Client, options: RemoteOptions, wires: dict[str, Wire], spaces: SpaceInfo):
        self.client, self._options, self._wires = client, options, wires
        self._action_axes = {task: len(space.shape or ()) for task, space in spaces.action.items()}
        self._session = uuid.uuid4().hex
        names = client.metadata.get("stages", [ACT]) if client.is_proctor else [ACT]
        self.stages = tuple(Stage(name) for name in names)

    def reset(self, trials: Sequence[Trial]) -> State:
        blank = np.zeros(len(trials), np.int64)
        return {"asked": blank, "step": blank.copy(), "losses": np.full(len(trials), self.client.losses)}

    def forward(self, stage: str, batch: Batch) -> StageOutput:
        """Rows that repeat a trial (padding) share its answer."""
        first = {trial: row for row, trial in reversed(list(enumerate(batch.trials)))}
        decisions: dict[Trial, Decision] = {}
        frames: dict[Trial, bytes] = {}
        for trial, row in first.items():
            if self._outlived(batch.state, row):
                decisions[trial] = Unavailable(f"{self._options.address} was lost during this trial")
                continue
            try:
                frames[trial] = encode(self._message(stage, batch, row))
            except WireError as problem:
                decisions[trial] = Fail(f"the observation {problem}")
        for trial, reply in zip(frames, self.client.ask(list(frames.values())), strict=True):
            decisions[trial] = self._decision(trial, reply)
        rows = [decisions[trial] for trial in batch.trials]
        steps = [len(d.actions) if isinstance(d, Execute) else 0 for d in rows]
        state = {**batch.state, "asked": batch.state["asked"] + 1, "step": batch.state["step"] + steps}
        return StageOutput(rows, state)

    def close(self) -> None:
        self.client.close()

    def _outlived(self, state: State, row: int) -> bool:
        """Whether a plain server, which cannot know the trial, was lost since the trial began."""
        return not self.client.is_proctor and state["asked"][row] > 0 and state["losses"][row] != self.client.losses

    def _message(self, stage: str, batch: Batch, row: int) -> dict[str, Any]:
        trial = batch.trials[row]
        message = self._wires[trial.task].row(batch.observation, row)
        if not self.client.is_proctor:
            return message
        told = {"session": self._session, "agent": trial.agent, "task": trial.task, "index": trial.index}
        message[fields.TRIAL] = {**told, "asked": int(batch.state["asked"][row])}
        message[fields.SEED], message[fields.STEP] = trial.seed, int(batch.state["step"][row])
        message[fields.STAGE] = stage
        return message

    def _decision(self, trial: Trial, reply: Reply) -> Decision:
        if isinstance(reply, ServerLost):
            return Unavailable(str(reply))
        if isinstance(reply, ServerError):
            lines = [line.strip() for line in str(reply).splitlines() if line.strip()]
            return Fail(f"the policy server answered with an error: {lines[-1] if lines else 'no text'}\n{reply}")
        if not self.client.is_proctor:
            return self._execute(trial, reply, ACT)
        if fields.RESTART in reply:
            return Unavailable(str(reply[fields.RESTART]))
        if fields.GOTO in reply:
            return Goto(str(reply[fields.GOTO]))
        if fields.ERROR in reply:
            return Fail(str(reply[fields.ERROR]))
        return self._execute(trial, reply, str(reply.get(fields.THEN, self.stages[0].name)))

    def _execute(self, trial: Trial, reply: dict[Any, Any], then: str) -> Decision:
        key = self._options.action_key
        if key not in reply:
            return Fail(f'the policy server\'s answer has no "{key}"; it has {", ".join(map(str, reply)) or "nothing"}')
        try:
            actions = as_array(reply[key])
        except WireError as problem:
            return Fail(f'the policy server\'s "{key}" is no array: {problem}')
        if actions.ndim == self._action_axes[trial.task]:
            actions = actions[None]
        return Execute(actions[: self._options.replan_steps] if actions.ndim else actions[None], then)
