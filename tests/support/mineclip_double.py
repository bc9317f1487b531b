"""A stand-in for MineCLIP and STEVE-1's prior: their calls, shapes, dtypes and generators, with small random weights.

As in the originals: video is (n, 16, 3, 160, 256) with values from 0 to 255, a text gives (1, 512), the prior is a
conditional VAE that draws its latent from torch's global generator, and embeddings are not of length 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

DIM, LATENT = 512, 256


class MineClipDouble:
    """`encode_text` and `encode_video`; refuses what the original would."""

    def __init__(self, device: str = "cpu"):
        generator = torch.Generator().manual_seed(0)
        self.device = device
        self.words = torch.randn(256, DIM, generator=generator)
        self.picture = torch.randn(3 * 10 * 16, DIM, generator=generator)

    def encode_text(self, texts: Any) -> torch.Tensor:
        listed = [texts] if isinstance(texts, str) else texts
        rows = [self.words[[ord(character) % 256 for character in text]].mean(dim=0) for text in listed]
        return torch.stack(rows).to(self.device).half()

    def encode_video(self, video: torch.Tensor) -> torch.Tensor:
        assert video.ndim == 5
        assert video.shape[1:] == (16, 3, 160, 256), video.shape
        assert float(video.max()) > 2, "frames have values from 0 to 255"
        blocks = video.float().reshape(-1, 16, 3, 10, 16, 16, 16).mean(dim=(1, 4, 6)) / 255 - 0.5
        return blocks.reshape(len(video), -1) @ self.picture


class TranslatorDouble(torch.nn.Module):
    """The conditional VAE at inference: a latent from the standard normal, decoded with the text."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.decoder = torch.nn.Linear(LATENT + DIM, DIM)

    def forward(self, text_embeddings: torch.Tensor, deterministic: bool = False) -> torch.Tensor:
        mean = torch.zeros(text_embeddings.shape[0], LATENT, device=text_embeddings.device)
        latent = mean if deterministic else mean + torch.randn_like(mean)
        return self.decoder(torch.cat([0.2 * latent, 3 * text_embeddings], dim=1))


def get_prior_embed(text: str, mineclip: Any, prior: Any, device: Any) -> np.ndarray:
    """With the signature and the detours of STEVE-1's."""
    text_embed = mineclip.encode_text(text).detach().cpu().numpy()
    with torch.no_grad():
        return prior(torch.tensor(text_embed).float().to(device)).cpu().detach().numpy()


def load(device: str) -> tuple[MineClipDouble, TranslatorDouble]:
    with torch.random.fork_rng():
        return MineClipDouble(device), TranslatorDouble().to(device).eval()


def load_one(device: str) -> MineClipDouble:
    return MineClipDouble(device)
