"""The `tracking/bfm_zero` loader: a checkpoint folder of BFM-Zero in its own model class.

The folder is `checkpoint/model` (config.json, init_kwargs.json, model.safetensors), or one above it. The package
`humanoidverse` must be importable; it is a policy that is examined, so its classes are its own. What the model was
trained on is in its `obs_space`: the task must show exactly that."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from proctor.errors import InputError
from proctor.policies.from_latent import INDEX, LatentLoader
from proctor.policies.latent_nets import TorchNet
from proctor.policies.options import PolicyOptions
from proctor.policies.protocol import Policy, SpaceInfo
from proctor.policies.robot_metadata import RobotMetadata
from proctor.policies.torch_tools import torch_device

CLASSES = {
    "FBModel": "humanoidverse.agents.fb.model",
    "FBcprModel": "humanoidverse.agents.fb_cpr.model",
    "FBcprAuxModel": "humanoidverse.agents.fb_cpr_aux.model",
}
"""The model classes, by the name that a checkpoint gives, and where the package has them."""


class BfmZeroOptions(PolicyOptions):
    """`tracking/bfm_zero` loader."""

    observations: ClassVar[None] = None
    backward_observations: ClassVar[None] = None
    window: int = Field(default=1, ge=1, le=100_000)
    """Look-ahead smoothing: z is the mean over so many frames from its own on; 1 in BFM-Zero's evaluation."""
    z_dim: int | None = Field(default=None, ge=1, le=100_000)
    """Checked against what the model gives."""
    dtype: Literal["float32", "float64"] = "float32"

    @model_validator(mode="after")
    def _as_trained(self) -> BfmZeroOptions:
        if self.frame_stack > 1 or self.normalize is not None:
            raise ValueError("a latent model sees references and worlds alike: it must normalise and stack by itself")
        return self


class BfmZeroLoader(LatentLoader):
    """A tracking task: BFM-Zero's checkpoint folder, in its own model class."""

    name: ClassVar[str] = "tracking/bfm_zero"
    Options: ClassVar[type[PolicyOptions]] = BfmZeroOptions
    needs: ClassVar[tuple[tuple[str, str], ...]] = (("torch", "torch"), ("safetensors", "torch"))
    folders: ClassVar[bool] = True

    def load(self, agent: Any, options: Any, spaces: SpaceInfo, base: Path | None) -> Policy:
        where = f'agent "{agent.name}"'
        folder = self._folder(agent, base)
        for task, space in spaces.observation.items():
            _check_space(_trained_on(folder), space, f'{where}: task "{task}"')
        return super().load(agent, options, spaces, base)

    def files(self, agent: Any, options: Any, base: Path | None) -> dict[str, Path]:
        folder = self._folder(agent, base)
        found = sorted(path for path in folder.iterdir() if path.is_file())
        return {f"checkpoint/{path.name}": path for path in found}

    def _folder(self, agent: Any, base: Path | None) -> Path:
        """Where the model is. Raises InputError where the checkpoint is none of BFM-Zero's."""
        root = self.checkpoint(agent, base)
        for folder in (root, root / "model", root / "checkpoint" / "model"):
            if all((folder / name).is_file() for name in ("config.json", "model.safetensors")):
                return folder
        raise InputError(
            f'agent "{agent.name}": {root} is no checkpoint folder of BFM-Zero: expected config.json and '
            "model.safetensors in it, in model/ or in checkpoint/model/"
        )

    def _model(self, agent: Any, options: Any, base: Path | None) -> tuple[Any, RobotMetadata]:
        torch, folder, where = self.require("torch"), self._folder(agent, base), f'agent "{agent.name}"'
        kind = _json(folder / "config.json").get("name")
        if kind not in CLASSES:
            raise InputError(f"{where}: {folder} holds a {kind}; known are {', '.join(CLASSES)}")
        if (folder / "init_kwargs.pkl").exists() and not options.trust:
            raise InputError(
                f"{where}: {folder / 'init_kwargs.pkl'} is a pickle, which runs code when it is loaded; save the model "
                "again with a newer BFM-Zero (init_kwargs.json), or say that you trust it: options.trust: true"
            )
        try:
            model_class = getattr(importlib.import_module(CLASSES[kind]), kind)
        except ModuleNotFoundError as error:
            raise InputError(
                f"{where}: {kind} is BFM-Zero's class, and {error.name} cannot be imported; install it, or put the "
                "folder of the checkout into python_path"
            ) from None
        device = torch_device(agent.device)
        model = model_class.load(str(folder), device=device.type)
        return TorchNet(model, device, getattr(torch, options.dtype), str(folder)), RobotMetadata()


def _trained_on(folder: Path) -> dict[str, tuple[int, ...]]:
    """The observations that the model was made with, and their shapes; empty where the folder does not say."""
    path = folder / "init_kwargs.json"
    space = _json(path).get("obs_space", {}) if path.is_file() else {}
    entries = space.get("spaces", {}) if isinstance(space, dict) else {}
    return {str(key): tuple(entry["shape"]) for key, entry in entries.items() if "shape" in entry}


def _check_space(trained: dict[str, tuple[int, ...]], space: Any, where: str) -> None:
    """Raises InputError where a task does not show what the model reads."""
    shown = {key: tuple(one.shape) for key, one in space.spaces.items() if key not in INDEX}
    wrong = [
        f"{key} {shape}" + (f" (the task's is {shown[key]})" if key in shown else "")
        for key, shape in trained.items()
        if key != "time" and shown.get(key) != shape
    ]
    if wrong:
        raise InputError(
            f"{where} does not show what the model was trained on: {', '.join(wrong)}. Set in the task's options: "
            "layout: humanoidverse, observations: [state, privileged_state, last_action, history_actor, motion, frame]"
        )


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as JSON: {error}") from None
    return found if isinstance(found, dict) else {}
