"""MineCLIP's calls, names of weights, shapes, dtypes and complaints, as its own class had them on a CPU (e6c06a0), with
small networks.

What was met there: texts and videos give float32 that requires a gradient; a model is made in training mode; frames
may be of any number type and are divided by 255, whatever their values; any window up to 32 frames is taken; another
picture size, a longer window or four axes end in RuntimeError, IndexError or ValueError; a checkpoint holds
`state_dict`, whose names begin with `model.`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from .tokenization import tokenize_batch

LONGEST, DIM = 32, 512


class Clip(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(256, DIM)
        self.vision = nn.Linear(3 * 10 * 16, DIM)

    def encode_text(self, text: Any) -> torch.Tensor:
        tokens = tokenize_batch(text)
        shown = (tokens > 0).float()[:, :, None]
        return (self.words(tokens) * shown).sum(dim=1) / shown.sum(dim=1)


class TemporalPooling(nn.Module):
    def __init__(self, pool_type: str):
        super().__init__()
        self.attn = nn.Embedding(LONGEST, DIM) if pool_type.startswith("attn.") else None

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        _, length, _ = features.size()
        if self.attn is None:
            return features.mean(dim=1)
        return (features + self.attn(torch.arange(length))).mean(dim=1)


class MineCLIP(nn.Module):
    def __init__(
        self, arch: str, *, resolution: Any, pool_type: str, image_feature_dim: int, mlp_adapter_spec: str,
        hidden_dim: int,
    ):  # fmt: skip
        assert arch.startswith("vit_base_p16")
        assert image_feature_dim == hidden_dim == DIM
        super().__init__()
        self.resolution = tuple(resolution)
        self.clip_model, self.temporal_encoder = Clip(), TemporalPooling(pool_type)

    def encode_text(self, text: Any) -> torch.Tensor:
        return self.clip_model.encode_text(text)

    def encode_video(self, videos: torch.Tensor) -> torch.Tensor:
        *leading, channels, height, width = videos.size()
        if (height, width) != self.resolution:
            raise RuntimeError("The size of tensor a (17) must match the size of tensor b (161) at dimension 1")
        frames = videos.view(-1, channels, height, width).float() / 255 - 0.3
        blocks = frames.view(-1, 3, 10, 16, 16, 16).mean(dim=(3, 5)).flatten(1)
        features = self.clip_model.vision(blocks)
        return self.temporal_encoder(features.view(*leading, DIM))

    def load_ckpt(self, ckpt_or_path: Any, strip_prefix: str = "model.", strict: bool = False) -> Any:
        assert isinstance(ckpt_or_path, dict)
        weights = ckpt_or_path["state_dict"].items()
        stripped = {name[len(strip_prefix) :]: value for name, value in weights if name.startswith(strip_prefix)}
        return self.load_state_dict(stripped, strict=strict)
