"""The file of a policy: weights as safetensors, and in its header what they are the weights of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from proctor.errors import InputError, optional
from proctor.policies.torch_tools import fill_module
from proctor.suites.metaworld.waypoint_flow.cfg import NetCfg

if TYPE_CHECKING:
    from proctor.suites.metaworld.waypoint_flow.nets import Nets

HEADER = "waypoint_flow"


def save_nets(nets: Nets, path: Path, about: dict[str, str]) -> None:
    """Write the weights in half precision, with the architecture and `about` (how they came to be) in the header."""
    import torch
    from safetensors.torch import save_file

    tensors = {name: tensor.detach().to("cpu", torch.float16) for name, tensor in nets.state_dict().items()}
    save_file(tensors, path, {HEADER: nets.cfg.model_dump_json(), **about})


def load_nets(path: Path, device: Any = "cpu") -> Nets:
    """Networks in single precision and evaluation mode, on `device`. Raises InputError for a file of another kind."""
    safetensors = optional("safetensors", "the waypoint_flow loader", "torch")
    from proctor.suites.metaworld.waypoint_flow.nets import Nets

    try:
        with safetensors.safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            tensors = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118 - no mapping
    except Exception as error:
        raise InputError(f"{path} cannot be read as safetensors: {error}") from None
    nets = Nets(_architecture(path, about))
    fill_module(nets, tensors, str(path))
    return nets.to(device).eval()


def _architecture(path: Path, about: dict[str, str]) -> NetCfg:
    if HEADER not in about:
        raise InputError(
            f'{path} has no "{HEADER}" in its header (found: {", ".join(sorted(about)) or "nothing"}); expected what '
            "examples/train_manipulation.py writes. Weights for a module of yours are read with policy: torch"
        )
    try:
        return NetCfg.model_validate_json(about[HEADER])
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "the whole"
        raise InputError(f'{path}: "{HEADER}" in its header is not understood: {key}: {first["msg"]}') from None
