"""From a folder that LeRobot saved to a policy. Runs where LeRobot is installed, with its classes and processors."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

from proctor.policies.protocol import Policy, SpaceInfo
from proctor.suites.lerobot.agents.policy import Chunked, Ensembled, Model, Remembering
from proctor_host.errors import InputError

KINDS = ("act", "diffusion", "smolvla", "pi0", "pi05")
"""Policies whose queues are known here."""
STRICT = ("act", "diffusion", "smolvla")
"""Policies whose weights are saved under the names that they are loaded by."""
_OPERATORS = ("nms", "qnms")
"""What torchvision registers when it is imported, also where its compiled part cannot be loaded."""


def load(agent: Any, options: Any, spaces: SpaceInfo) -> Policy:
    """The agent's policy. `agent` and `options` are the config's, with keys as attributes. Raises InputError for what
    the user can mend."""
    offer_operators()
    folder = str(agent.checkpoint)
    from lerobot.configs.policies import PreTrainedConfig  # pyright: ignore[reportMissingImports]
    from lerobot.policies.factory import get_policy_class, make_pre_post_processors  # pyright: ignore[reportMissingImports]

    config = PreTrainedConfig.from_pretrained(folder)
    if config.type not in KINDS:
        raise InputError(f'{folder} is a policy of type "{config.type}"; the lerobot loader knows {", ".join(KINDS)}')
    config.device = agent.device
    for key in ("pretrained_backbone_weights", "pretrained_path"):
        if key in vars(config):  # the checkpoint has all weights, and nothing is fetched
            setattr(config, key, None)
    strict = {"strict": True} if options.strict and config.type in STRICT else {}
    try:
        policy = get_policy_class(config.type).from_pretrained(folder, config=config, **strict)
    except RuntimeError as error:
        raise InputError(f"the weights in {folder} do not fit its config.json: {str(error)[:400]}") from error
    before, after = make_pre_post_processors(
        policy.config,
        pretrained_path=folder,
        preprocessor_overrides={"device_processor": {"device": agent.device}},
    )
    words = {task: spaces.instruction(task, dict(options.instructions)) for task in spaces.observation}
    model = Model(policy, (before, after), words, None if options.inputs is None else dict(options.inputs))
    model.check(spaces)
    if getattr(config, "temporal_ensemble_coeff", None) is not None:
        return Ensembled(model)
    return Chunked(model) if config.n_obs_steps == 1 else Remembering(model, spaces)


def offer_operators() -> None:
    """Let torchvision be imported beside a torch that its compiled part is not built for, such as one without CUDA: it
    gives up its compiled operators then, which LeRobot's policies do not use, but not the names of two of them. Nothing
    is done where they are there."""
    if importlib.util.find_spec("torchvision") is None:
        return
    import torch

    try:
        importlib.import_module("torchvision")
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
        _forget_half_imported()
        library = torch.library.Library("torchvision", "DEF")
        for name in _OPERATORS:
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _KEPT.append(library)
        importlib.import_module("torchvision")


_KEPT: list[Any] = []
"""What torch forgets with the object that declared it."""


def _forget_half_imported() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
