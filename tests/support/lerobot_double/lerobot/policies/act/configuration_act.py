"""ACT's config."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lerobot.configs.policies import PreTrainedConfig


@dataclass
class ACTConfig(PreTrainedConfig):
    type: ClassVar[str] = "act"
    chunk_size: int = 8
    n_action_steps: int = 6
    temporal_ensemble_coeff: float | None = None
