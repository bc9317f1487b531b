"""How large the networks are, and the units that they think in."""

from __future__ import annotations

import zlib
from typing import Self

import numpy as np
from pydantic import Field, model_validator

from proctor.config.models import Frozen

STATE_DIM = 4
"""End effector x, y, z in metres, and how far the gripper is open."""


class TrunkCfg(Frozen):
    """A transformer over the patches of an image, the tokens of an instruction and a few vectors."""

    width: int = Field(default=128, ge=8)
    depth: int = Field(default=3, ge=1)
    heads: int = Field(default=4, ge=1)

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not divided by heads {self.heads}")
        return self


class NetCfg(Frozen):
    """Both networks. An image is `image_size` pixels square, a plan has up to `waypoints` waypoints, a chunk `chunk`
    actions of `action_dim` numbers. An instruction has up to `tokens` words out of `vocabulary` numbers."""

    image_size: int = Field(default=64, ge=16, multiple_of=8)
    tokens: int = Field(default=12, ge=1)
    vocabulary: int = Field(default=512, ge=2)
    action_dim: int = Field(default=4, ge=1)
    waypoints: int = Field(default=4, ge=1)
    chunk: int = Field(default=16, ge=1)
    denoising_steps: int = Field(default=10, ge=1)
    planner: TrunkCfg = TrunkCfg()
    expert: TrunkCfg = TrunkCfg(depth=2)
    denoiser_width: int = Field(default=192, ge=8)
    denoiser_depth: int = Field(default=2, ge=1)
    centre: tuple[float, float, float, float] = (0.0, 0.6, 0.2, 0.5)
    """The state that the networks see as zero: metres, metres, metres, opening."""
    scale: tuple[float, float, float, float] = (0.3, 0.3, 0.3, 0.5)
    """How far from there they see as one."""


def word_tokens(text: str, vocabulary: int) -> list[int]:
    """The words of an instruction as numbers from 1 to `vocabulary` - 1, by a checksum of each word in lower case; 0 is
    padding. Punctuation and case do not matter. Two words may share a number."""
    words = "".join(letter if letter.isalnum() else " " for letter in text.lower()).split()
    return [1 + zlib.crc32(word.encode()) % (vocabulary - 1) for word in words]


def to_net(state: np.ndarray, cfg: NetCfg) -> np.ndarray:
    """States or waypoints (..., 4) in the networks' units, float32."""
    return ((np.asarray(state, np.float64) - cfg.centre) / cfg.scale).astype(np.float32)


def from_net(values: np.ndarray, cfg: NetCfg) -> np.ndarray:
    """The way back, float64."""
    return np.asarray(values, np.float64) * cfg.scale + cfg.centre
