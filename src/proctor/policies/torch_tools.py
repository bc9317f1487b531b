"""What the torch and sb3 loaders share: devices, weights, tensors in and out.

Torch is imported where it is used.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.foreign import check_weights
from proctor.policies.tree import tree_map

SAFE_TORCH = (2, 6)
"""The first torch that reads `weights_only` without running anything and hands no file over to TorchScript."""
_LISTED = 8


def torch_device(name: str) -> Any:
    """The device, after checking that it is there."""
    import torch

    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f'device "{name}" is not known to torch; use cpu, cuda or cuda:N') from None
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device.type == "cuda" and (device.index or 0) >= count:
        raise InputError(f'device "{name}" is not available here ({count} CUDA devices found); use device: cpu')
    return device


def read_weights(source: Any, where: str, device: Any) -> Any:
    """What `torch.save` wrote, tensors and plain containers only. Raises InputError for anything else, TorchScript
    included, and for a torch whose `weights_only` let code run (CVE-2025-32434)."""
    import torch

    if tuple(map(int, torch.__version__.split(".")[:2])) < SAFE_TORCH:
        raise InputError(
            f"{where} is not read: before torch {'.'.join(map(str, SAFE_TORCH))} a file of weights could run code, and "
            f"this is torch {torch.__version__}. Install a newer one, save the weights as safetensors, or set "
            "options.trust: true if you trust the file"
        )
    try:
        check_weights(source)
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{where} is not read as weights: {error}") from None
    try:
        return torch.load(source, map_location=device, weights_only=True)
    except Exception as error:
        raise _unread(where, error) from None


def _unread(where: str, error: Exception) -> InputError:
    """What torch said of a file of weights. Trust helps with one that names code, and with no other."""
    text = str(error).strip() or repr(error)
    reason = next(line for line in text.partition("WeightsUnpickler error:")[2].splitlines() or [text] if line.strip())
    reason = reason.strip().splitlines()[0].partition(". ")[0]
    named = ("Unsupported global", "Unsupported class", "Can only build Tensor", "Trying to call reduce", "TorchScript")
    if any(sign in text for sign in named):
        return InputError(
            f"{where} is not read as weights: it holds more than tensors and plain containers, which could run code "
            f"({reason}). If you trust the file, set options.trust: true"
        )
    if "Unsupported operand" in text or "pickle protocol" in text:
        return InputError(
            f"{where} is not read as weights: it is damaged, or a pickle not written by torch, which could run code "
            f"({reason}). Save the weights with torch.save, or as safetensors"
        )
    return InputError(f"{where} is damaged: torch cannot read it ({reason}). Copy or save it again")


def find_state_dict(found: Any, key: str | None, where: str) -> dict[str, Any]:
    """The state dict in a checkpoint, at a dotted `key` where one is given."""
    for part in key.split(".") if key else ():
        if not isinstance(found, Mapping) or part not in found:
            has = ", ".join(map(str, found)) if isinstance(found, Mapping) else type(found).__name__
            raise InputError(f'{where}: options.state_dict_key is "{key}", but there is no "{part}" (found {has})')
        found = found[part]
    if not isinstance(found, Mapping):
        raise InputError(f"{where}: expected a state dict, found a {type(found).__name__}")
    nested = [str(name) for name, value in found.items() if isinstance(value, Mapping)]
    if nested:
        raise InputError(
            f"{where}: the state dict is inside another dict; say where with options.state_dict_key, "
            "probably one of " + ", ".join(nested)
        )
    return dict(found)


def fill_module(module: Any, state: Mapping[str, Any], where: str, *, strict: bool = True) -> None:
    """Put weights into a module. A tensor of another shape always raises InputError; missing and unexpected
    ones do where `strict`."""
    own = module.state_dict()
    missing = [name for name in own if name not in state]
    unexpected = [name for name in state if name not in own]
    shapes = [
        f"{name} {tuple(state[name].shape)} instead of {tuple(own[name].shape)}"
        for name in own
        if name in state and state[name].shape != own[name].shape
    ]
    problems = {"other shape": shapes}
    if strict:
        problems |= {"missing": missing, "unexpected": unexpected}
    if any(problems.values()):
        listed = "; ".join(f"{kind}: {_some(names)}" for kind, names in problems.items() if names)
        raise InputError(f"{where} is a checkpoint of another architecture than {type(module).__name__}: {listed}")
    module.load_state_dict(state, strict=strict)


def _some(names: list[str]) -> str:
    rest = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")


def to_tensors(tree: Any, device: Any, floats: Any = None) -> Any:
    """Arrays to tensors on `device`, as copies; a tensor that lies there is taken as it is. Floating-point ones become
    `floats` where it is given."""
    import torch

    def convert(array: Any) -> Any:
        tensor = array if isinstance(array, torch.Tensor) else torch.from_numpy(np.array(array))
        return tensor.to(device, floats if floats is not None and tensor.is_floating_point() else None)

    return tree_map(convert, tree)


def to_arrays(tree: Any) -> Any:
    """Tensors to arrays, as copies; bfloat16 becomes float32."""
    import torch

    def convert(tensor: Any) -> np.ndarray:
        values = torch.as_tensor(tensor).detach().to("cpu")
        return np.array((values.float() if values.dtype is torch.bfloat16 else values).numpy())

    return tree_map(convert, tree)
