"""Policies with weights in `model.safetensors`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file


class PreTrainedPolicy(torch.nn.Module):
    def __init__(self, config: Any):
        super().__init__()
        if config.pretrained_backbone_weights is not None:
            raise OSError("weights of a backbone would be fetched")
        self.config = config

    def reset(self) -> None: ...

    def save_pretrained(self, folder: Path) -> None:
        self.config.save_pretrained(folder)
        save_file(self.state_dict(), Path(folder) / "model.safetensors")

    @classmethod
    def from_pretrained(cls, folder: str | Path, *, config: Any, strict: bool = False) -> Any:
        policy = cls(config)
        policy.load_state_dict(load_file(Path(folder) / "model.safetensors"), strict=strict)
        policy.reset()
        return policy.eval()


def features(batch: dict[str, Any], keys: Any) -> torch.Tensor:
    """All inputs of a row in one line, images by their mean colours."""
    return torch.cat([batch[key].mean(dim=(-2, -1)) if batch[key].ndim > 3 else batch[key] for key in keys], dim=-1)
