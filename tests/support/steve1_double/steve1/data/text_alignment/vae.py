"""STEVE-1's prior: the conditional VAE at inference (903b244), with fewer layers. Its latent is drawn from torch's
global generator; sizes are arguments that a checkpoint does not hold."""

from __future__ import annotations

import torch
from torch import nn


class TranslatorVAE(nn.Module):
    def __init__(self, input_dim: int = 512, hidden_dim: int = 256, latent_dim: int = 256):
        super().__init__()
        self.latent_dim = latent_dim
        self.encoder = nn.Sequential(nn.Linear(2 * input_dim, 2 * latent_dim))
        between = (nn.LayerNorm(hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, hidden_dim), nn.LayerNorm(hidden_dim))
        into, out = nn.Linear(latent_dim + input_dim, hidden_dim), nn.Linear(hidden_dim, input_dim)
        self.decoder = nn.Sequential(into, *between, nn.ReLU(), out)

    def forward(self, text_embeddings: torch.Tensor, deterministic: bool = False) -> torch.Tensor:
        mean = torch.zeros(text_embeddings.shape[0], self.latent_dim).to(text_embeddings.device)
        latent = mean if deterministic else mean + torch.randn_like(mean)
        return self.decoder(torch.cat([latent, text_embeddings], dim=1))
