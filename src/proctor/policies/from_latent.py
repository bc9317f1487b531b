"""The `latent` loader: models that are told what to do by a latent z (`proctor.policies.latent`).

They come as a torch checkpoint (a state dict into a module of yours, or TorchScript with exported methods), or as a
pair of files, `backward_file` and `actor_file`, both ONNX or both TorchScript (which needs `trust`). The contexts of
all motions of a task are computed when the agent is loaded, from what the task tells beforehand; a step gathers them by
the observations `motion` and `frame`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies.files import find_file, source_file
from proctor.policies.from_onnx import OnnxLoader
from proctor.policies.from_torch import TorchLoader, TorchOptions
from proctor.policies.latent import ContextTable, context_table
from proctor.policies.latent_nets import Inputs, OnnxNet, Pair, ScriptNet, TorchNet
from proctor.policies.loader import Loader
from proctor.policies.options import PolicyOptions
from proctor.policies.protocol import Batch, Policy, SpaceInfo, by_task
from proctor.policies.robot_metadata import ActionMap, RobotMetadata
from proctor.policies.torch_tools import torch_device

INDEX = ("motion", "frame")


class LatentOptions(PolicyOptions):
    """`latent` loader."""

    backward_file: str | None = None
    """The network that makes z of observations; .onnx or TorchScript."""
    actor_file: str | None = None
    """The network that makes actions of observations and z; of the same kind."""
    backward_inputs: dict[str, str | list[str]] = Field(default_factory=dict)
    """For the pair: input -> observation entry, or entries to concatenate; left out: the entry of the same name."""
    actor_inputs: dict[str, str | list[str]] = Field(default_factory=dict)
    """As backward_inputs; the latent is called `z`."""
    module: str | None = None
    """For a checkpoint of weights: import string to the nn.Module class or a factory."""
    kwargs: dict[str, Any] = Field(default_factory=dict)
    state_dict_key: str | None = None
    """Where the state dict is within the checkpoint, with dots."""
    strict: bool = True
    window: int = Field(default=1, ge=1, le=100_000)
    """Look-ahead smoothing: z is the mean over so many frames from its own on."""
    z_dim: int | None = Field(default=None, ge=1, le=100_000)
    """Checked against what the model gives."""
    observations: list[str] | None = None
    """The entries that the actor sees; null: all but `motion` and `frame`."""
    backward_observations: list[str] | None = None
    """The entries that z is made of; null: all that a task gives of a reference (state, privileged_state,
    last_action)."""
    metadata: Literal["check", "ignore"] = "check"
    """What an ONNX actor says of the robot it was made for: compared with the task's robot, or not looked at."""
    dtype: Literal["float32", "float64", "float16", "bfloat16"] = "float32"
    threads: int = Field(default=1, ge=1, le=1024)
    """Of onnxruntime."""

    @model_validator(mode="after")
    def _both_files(self) -> LatentOptions:
        if (self.backward_file is None) != (self.actor_file is None):
            raise ValueError("backward_file and actor_file go together; give both, or a checkpoint")
        if self.frame_stack > 1 or self.normalize is not None:
            raise ValueError("a latent model sees references and worlds alike: it must normalise and stack by itself")
        return self


class LatentPolicy(Policy):
    """Contexts by task, and a model on numpy arrays."""

    def __init__(self, model: Any, tables: dict[str, ContextTable], maps: dict[str, ActionMap], seen: list[str] | None):
        self._model, self._tables, self._maps, self._seen = model, tables, maps, seen

    def act(self, batch: Batch) -> np.ndarray:
        observation = batch.observation
        motions, frames = (np.asarray(observation[key]) for key in INDEX)
        z = by_task(batch.trials, lambda task, rows: self._tables[task].gather(motions[rows], frames[rows]))
        seen = self._seen or [key for key in observation if key not in INDEX]
        output = self._model.act({key: observation[key] for key in seen}, z, mean=True)
        return by_task(batch.trials, lambda task, rows: self._maps[task](output[rows]))


class LatentLoader(Loader):
    """A model that is told what to do by a latent: torch, TorchScript, or a pair of ONNX files."""

    name: ClassVar[str] = "latent"
    Options: ClassVar[type[PolicyOptions]] = LatentOptions
    needs: ClassVar[tuple[tuple[str, str], ...]] = (
        ("torch", "torch"),
        ("safetensors", "torch"),
        ("onnxruntime", "onnx"),
    )

    def load(self, agent: AgentCfg, options: LatentOptions, spaces: SpaceInfo, base: Path | None) -> Policy:
        where = f'agent "{agent.name}"'
        model, metadata = self._model(agent, options, base)
        tables, maps = {}, {}
        for task, space in spaces.observation.items():
            briefing = spaces.briefing[task]() if task in spaces.briefing else None
            if briefing is None:
                raise InputError(f'{where}: a latent model needs reference motions, but task "{task}" tells of none')
            missing = [key for key in (*INDEX, *(options.observations or ())) if key not in space.spaces]
            if missing:
                seen = ", ".join(space.spaces)
                raise InputError(f'{where}: task "{task}" does not observe {", ".join(missing)} (it has {seen})')
            tables[task] = _table(model, briefing, options, f'{where}: task "{task}"')
            robot, action = briefing.robot.description, briefing.options.action
            maps[task] = ActionMap.between(metadata, robot, action, f'{where}: task "{task}"')
        return LatentPolicy(model, tables, maps, options.observations)

    def files(self, agent: AgentCfg, options: LatentOptions, base: Path | None) -> dict[str, Path]:
        found = super().files(agent, options, base)
        for key in ("backward_file", "actor_file"):
            if (name := getattr(options, key)) is not None:
                found[key] = find_file(name, base, f'agent "{agent.name}", options.{key}')
        return {**found, **({} if options.module is None else source_file(options.module, base))}

    def _model(self, agent: AgentCfg, options: LatentOptions, base: Path | None) -> tuple[Any, RobotMetadata]:
        files = self.files(agent, options, base)
        if ("checkpoint" in files) == ("actor_file" in files):
            raise InputError(
                f'agent "{agent.name}": the latent loader needs either a checkpoint (torch, TorchScript), or '
                "options.backward_file and options.actor_file"
            )
        if "checkpoint" in files:
            return self._torch(files["checkpoint"], agent, options, base), RobotMetadata()
        kinds = {files[key].suffix == ".onnx" for key in ("backward_file", "actor_file")}
        if len(kinds) > 1:
            raise InputError(
                f'agent "{agent.name}": backward_file and actor_file must be both ONNX, or both TorchScript'
            )
        parts = (files["backward_file"], options.backward_inputs), (files["actor_file"], options.actor_inputs)
        if kinds == {False}:
            return Pair(*(self._script(*part, agent, options) for part in parts)), RobotMetadata()
        self.require("onnxruntime")
        backward, actor = (
            OnnxNet(OnnxLoader().session(path, agent.device, options.threads), inputs, path) for path, inputs in parts
        )
        read = options.metadata == "check"
        return Pair(backward, actor), RobotMetadata.read(actor.metadata if read else {}, files["actor_file"])

    def _torch(self, path: Path, agent: AgentCfg, options: LatentOptions, base: Path | None) -> TorchNet:
        torch, device = self.require("torch"), torch_device(agent.device)
        shared = {key: getattr(options, key) for key in ("module", "kwargs", "state_dict_key", "strict", "trust")}
        module = TorchLoader().module(path, TorchOptions(**shared), device, base)
        return TorchNet(module, device, getattr(torch, options.dtype), str(path))

    def _script(self, path: Path, inputs: Inputs, agent: AgentCfg, options: LatentOptions) -> ScriptNet:
        torch, device = self.require("torch"), torch_device(agent.device)
        module = TorchLoader().module(path, TorchOptions(torchscript=True, trust=options.trust), device, None)
        return ScriptNet(module, inputs, device, getattr(torch, options.dtype))


def _table(model: Any, briefing: Any, options: LatentOptions, where: str) -> ContextTable:
    """The contexts of all motions of a task."""
    count = len(briefing.library)
    parts = [_reference(briefing, motion, options, where) for motion in range(count)]
    observation = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    table = context_table(model, observation, np.asarray(briefing.library.lengths) - 1, options.window)
    if options.z_dim is not None and table.z.shape[1] != options.z_dim:
        raise InputError(f"{where}: the model gives z of {table.z.shape[1]} numbers; options.z_dim is {options.z_dim}")
    return table


def _reference(briefing: Any, motion: int, options: LatentOptions, where: str) -> Mapping[str, np.ndarray]:
    """The frames 1 to T-1 of one motion as observations; a reference has no actions, so they are zero."""
    found = {key: value[1:] for key, value in briefing.reference_observations(motion).items()}
    rows = len(next(iter(found.values())))
    found["last_action"] = np.zeros((rows, briefing.robot.description.n_joints))
    if options.backward_observations is None:
        return found
    missing = [key for key in options.backward_observations if key not in found]
    if missing:
        raise InputError(f"{where} tells no {', '.join(missing)} of a reference (it has {', '.join(found)})")
    return {key: found[key] for key in options.backward_observations}
