"""Diffusion's config."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lerobot.configs.policies import PreTrainedConfig


@dataclass
class DiffusionConfig(PreTrainedConfig):
    type: ClassVar[str] = "diffusion"
    n_obs_steps: int = 2
    horizon: int = 8
    n_action_steps: int = 4
    noise_scheduler_type: str = "DDPM"
