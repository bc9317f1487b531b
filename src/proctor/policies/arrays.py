"""numpy arrays and torch tensors alike. Torch is looked for, never imported: where it was not imported, nothing is a
tensor. What workers need of this is in `proctor_host.arrays`."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from proctor_host.arrays import is_tensor, to_host, to_tensor

__all__ = [
    "beside", "concatenate", "is_module", "is_tensor", "no_gradients", "to_host", "to_tensor", "zero_rows",
]  # fmt: skip


def is_module(model: Any) -> bool:
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def beside(like: Any, values: np.ndarray) -> Any:
    """`values` where `like` lives: the array itself, or a tensor on the same device."""
    return sys.modules["torch"].as_tensor(values, device=like.device) if is_tensor(like) else values


def zero_rows(like: Any, rows: int) -> Any:
    """Zeros (rows, ...) of the kind, dtype and place of `like` (n, ...)."""
    return like.new_zeros((rows, *like.shape[1:])) if is_tensor(like) else np.zeros((rows, *like.shape[1:]), like.dtype)


def concatenate(parts: list[Any]) -> Any:
    """Along the first axis."""
    return sys.modules["torch"].cat(parts) if is_tensor(parts[0]) else np.concatenate(parts)


def no_gradients() -> AbstractContextManager[Any]:
    """`torch.no_grad` where torch is in use. Not inference mode: a model may keep what it computes."""
    torch: Any = sys.modules.get("torch")
    return nullcontext() if torch is None else torch.no_grad()
