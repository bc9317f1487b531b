"""Noise on a device, each row from its own trial.

Flow matching and diffusion start from noise. Drawn with one call for the batch, it would depend on who shares the
batch; drawn row by row from the trials' generators, a trial gets the same numbers alone and among others. The numbers
are made on the host, with the same generator whatever the device, and copied there at once. For numpy,
`Batch.normal` and `Batch.uniform` do the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from proctor.errors import optional

if TYPE_CHECKING:
    import torch

    from proctor.policies.protocol import Batch


def torch_normal(
    batch: Batch, shape: tuple[int, ...], device: Any = "cpu", dtype: torch.dtype | None = None
) -> torch.Tensor:
    """Standard normal noise `(rows, *shape)` on `device`. Drawn as float32 (float64 for that dtype), then cast;
    `dtype` None is float32."""
    return _on_device(batch.normal(shape, _drawn_as(dtype)), device, dtype)


def torch_uniform(
    batch: Batch, shape: tuple[int, ...], device: Any = "cpu", dtype: torch.dtype | None = None
) -> torch.Tensor:
    """Uniform noise in [0, 1), `(rows, *shape)`, as `torch_normal`. A narrow dtype may round up to 1."""
    return _on_device(batch.uniform(shape, _drawn_as(dtype)), device, dtype)


def _drawn_as(dtype: Any) -> Any:
    return np.float64 if dtype is not None and dtype == _torch().float64 else np.float32


def _on_device(rows: np.ndarray, device: Any, dtype: Any) -> Any:
    torch = _torch()
    return torch.from_numpy(rows).to(device, torch.float32 if dtype is None else dtype)


def _torch() -> Any:
    return optional("torch", "noise as torch tensors", "torch")
