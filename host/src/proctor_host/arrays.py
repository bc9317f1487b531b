"""Arrays of any library: numpy's, torch's tensors, and whatever speaks DLPack, such as those of JAX and Warp.

Torch is looked for, never imported at the top: where it was not imported, nothing is a tensor.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

ON_HOST = (1, 3)
"""The kinds of devices of DLPack whose memory the processor reads: its own, and what is pinned for a GPU."""


def is_tensor(values: Any) -> bool:
    """Whether it is a tensor of torch."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def to_host(values: Any) -> np.ndarray:
    """As an array of numpy; what lies on a device is copied from it, anything else is shared where that can be."""
    if type(values) is np.ndarray:
        return values
    if is_tensor(values):
        return values.detach().cpu().numpy()
    if _is_away(values):
        return to_tensor(values).cpu().numpy()
    return np.asarray(values)


def to_tensor(values: Any) -> Any:
    """As a tensor of torch, where the array lies and without a copy, unless numpy says that it is not to be written
    to. Torch must be installed."""
    import torch

    if isinstance(values, torch.Tensor):
        return values.detach()
    if isinstance(values, np.ndarray):
        return torch.from_numpy(values if values.flags.writeable else values.copy())
    if hasattr(values, "__dlpack__"):
        return torch.from_dlpack(values)
    if hasattr(values, "__cuda_array_interface__"):
        return torch.as_tensor(values)
    return torch.from_numpy(np.array(values))


def placed(values: np.ndarray, device: str) -> Any:
    """A copy of an array on a device. On the processor of an interpreter that never imported torch it stays an array of
    numpy; anywhere else it is a tensor of torch."""
    torch: Any = sys.modules.get("torch")
    if torch is None and device == "cpu":
        return np.array(values)
    if torch is None:
        import torch
    return torch.tensor(values, device=device)


def _is_away(values: Any) -> bool:
    """Whether the array lies on a device."""
    if hasattr(values, "__dlpack_device__"):
        return int(values.__dlpack_device__()[0]) not in ON_HOST
    return hasattr(values, "__cuda_array_interface__")
