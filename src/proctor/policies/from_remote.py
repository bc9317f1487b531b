"""The `remote` loader: a policy that runs on a server and speaks openpi's protocol, or vla-eval's.

A plain server of openpi's answers actions for observations and knows nothing of episodes. One that announces
`proctor: 1` is told the trial, its seed, its step and the stage, keeps the trial's state and generator, and answers
what a local policy would. A model server of vla-eval's keeps what belongs to an episode by its connection. What a
server cannot be blamed for (a lost connection, silence) voids the attempt; it is no failure of the policy.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.network import fields
from proctor.network.client import Client, ClientCfg
from proctor.network.presets import PRESETS, preset_named
from proctor.network.speech import Openpi
from proctor.network.vla_eval import VlaEval
from proctor.policies.loader import Loader
from proctor.policies.options import MOST_ROWS, PolicyOptions
from proctor.policies.protocol import SpaceInfo, StagedPolicy
from proctor.policies.remote_policy import EpisodePolicy, RemotePolicy
from proctor.policies.remote_wire import Wire, wire_of

log = logging.getLogger("proctor")

PIPELINE = ("normalize", "observation_order", "action_scale")
Keys = Annotated[dict[str, str], Field(min_length=1)]


class RemoteOptions(PolicyOptions):
    """`remote` loader: where the server is, what it is sent and what is taken of its answers."""

    pad_to: int | None = Field(default=None, ge=1, le=MOST_ROWS)
    """Nothing is padded here: each row is a request of its own."""
    protocol: Literal["openpi", "vla_eval"] = "openpi"
    replans_itself: ClassVar[bool] = True
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
    keys: Keys | str | None = None
    """Key that is sent -> entry of the observation (nested ones with dots; `observation` for the whole); or the name of
    a key preset. None: every entry, as `observation/NAME` with openpi's protocol, as vla-eval names it with its own,
    where a key `a/b` lies in the map `a`."""
    texts: tuple[str, ...] | None = None
    """Entries of the observation that are text as bytes and are sent as text. None: `instruction` with vla-eval's
    protocol, none with openpi's."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Sent with every request as it is."""
    instruction_key: str | None = Field(default=None, min_length=1)
    """Under which key the task's instruction is sent, such as `prompt`. None: not at all with openpi's protocol, as
    `task_description`, where there is one, with vla-eval's."""
    instructions: dict[str, str] = Field(default_factory=dict)
    """Task -> what it is told; left out: what the task says of itself."""
    action_key: str = Field(default=fields.ACTIONS, min_length=1)
    replan_steps: int | None = Field(default=None, ge=1, le=1_000_000)
    """Run at most so many actions of a chunk, then ask again. None: all. Left out with a key preset: the preset's,
    unless `temporal_ensemble` asks in every step."""
    task_info: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Task -> what a server of vla-eval's is told of it when an episode begins, beside its name, `episode_idx` and
    `seed`."""

    @model_validator(mode="before")
    @classmethod
    def _as_the_preset_says(cls, data: Any) -> Any:
        """Of an unknown preset nothing is taken here."""
        keys = data.get("keys") if isinstance(data, dict) else None
        given = isinstance(data, dict) and ("replan_steps" in data or data.get("temporal_ensemble") is not None)
        if isinstance(keys, str) and keys in PRESETS and not given:
            return {**data, "replan_steps": PRESETS[keys].replan_steps}
        return data

    @field_validator("keys")
    @classmethod
    def _known_preset(cls, keys: Any) -> Any:
        if isinstance(keys, str):
            try:
                preset_named(keys)
            except InputError as problem:
                raise ValueError(str(problem)) from None
        return keys

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

    @model_validator(mode="after")
    def _of_the_protocol(self) -> RemoteOptions:
        if self.task_info and self.protocol != "vla_eval":
            raise ValueError("task_info is for protocol: vla_eval; openpi's protocol has no message for an episode")
        if isinstance(self.keys, str) and self.protocol != "openpi":
            raise ValueError(f"keys: {self.keys} is for openpi's protocol; leave keys out with protocol: vla_eval")
        if isinstance(self.keys, str) and self.instruction_key is not None:
            raise ValueError(f"keys: {self.keys} says under which key the instruction is sent; drop instruction_key")
        return self

    @property
    def address(self) -> str:
        return self.url or f"ws://{self.host or '127.0.0.1'}:{self.port or 8000}"


class RemoteLoader(Loader):
    """A policy on a server that speaks openpi's protocol, or vla-eval's."""

    name: ClassVar[str] = "remote"
    Options: ClassVar[type[PolicyOptions]] = RemoteOptions
    needs: ClassVar[tuple[tuple[str, str], ...]] = (("websockets", "remote"), ("msgpack", "remote"))
    row_by_row: ClassVar[bool] = True

    def load(self, agent: AgentCfg, options: RemoteOptions, spaces: SpaceInfo, base: Path | None) -> StagedPolicy:
        where = f'agent "{agent.name}"'
        self._refuse_what_is_the_servers(agent, options, where)
        self.require("websockets")
        self.require("msgpack")
        wires = {task: wire_of(task, spaces, options, f'{where}, task "{task}"') for task in spaces.observation}
        if options.protocol == "vla_eval":
            return self._of_vla_eval(options, wires, spaces, where)
        client = Client(_client_cfg(options, where), Openpi())
        try:
            if client.is_proctor:
                _check_offer(client.metadata, wires, spaces, f"{where}: the server at {options.address}")
            return RemotePolicy(client, options, wires, spaces)
        except BaseException:
            client.close()
            raise

    def _of_vla_eval(
        self, options: RemoteOptions, wires: dict[str, Wire], spaces: SpaceInfo, where: str
    ) -> StagedPolicy:
        from proctor import __version__

        client = Client(_client_cfg(options, where), VlaEval(f"proctor {__version__}"))
        wanted = client.metadata.get("observation_params")
        if wanted:
            log.warning(
                "%s: the server asks for observations made with %s; a task of the suite vla_eval gives them with "
                "kwargs: %s",
                where, wanted, wanted,
            )  # fmt: skip
        return EpisodePolicy(client, options, wires, spaces)

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
