"""The networks, as functions of their weights: of torch tensors while they are trained, of numpy arrays afterwards.

Weights are matrices (in, out) and biases (out,), by name: `tile`, `frame`, `window`, `visual` encode pictures, `word`
and `text` encode texts, `prior_hidden` and `prior` imagine the picture that a text means. `tile` is a convolution whose
stride is its width, so that it is a product too. Embeddings have length 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

VISUAL = ("tile", "frame", "window", "visual")
TEXT = ("word", "text")
PRIOR = ("prior_hidden", "prior")
BIASED = frozenset({"tile", "frame", "window", "prior_hidden"})
"""The last layer of each network has no bias: a direction is what it gives."""

Weights = Mapping[str, Any]


@dataclass(frozen=True)
class Architecture:
    """Sizes. Frames have `frame_tiles` x `frame_tiles` tiles of `tile_side` pixels."""

    window: int = 4
    frame_tiles: int = 9
    tile_side: int = 7
    tile_width: int = 32
    frame_width: int = 64
    hidden: int = 128
    buckets: int = 1024
    dim: int = 64

    @property
    def frame_size(self) -> tuple[int, int]:
        side = self.frame_tiles * self.tile_side
        return side, side

    def shapes(self) -> dict[str, tuple[int, int]]:
        """Layer -> (in, out)."""
        return {
            "tile": (self.tile_side**2 * 3, self.tile_width),
            "frame": (self.frame_tiles**2 * self.tile_width, self.frame_width),
            "window": (self.window * self.frame_width, self.hidden),
            "visual": (self.hidden, self.dim),
            "word": (self.buckets, self.dim),
            "text": (self.dim, self.dim),
            "prior_hidden": (self.dim, self.hidden),
            "prior": (self.hidden, self.dim),
        }


def initial_weights(
    architecture: Architecture, layers: tuple[str, ...], rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Random weights of these layers, float32: standard deviation sqrt(2 / in), 0.1 for words, of which
    a text has few; biases 0."""
    made: dict[str, np.ndarray] = {}
    for layer in layers:
        inputs, outputs = architecture.shapes()[layer]
        scale = 0.1 if layer == "word" else np.sqrt(2.0 / inputs)
        made[f"{layer}.weight"] = (scale * rng.standard_normal((inputs, outputs))).astype(np.float32)
        if layer in BIASED:
            made[f"{layer}.bias"] = np.zeros(outputs, np.float32)
    return made


def encode_pictures(weights: Weights, tiles: Any) -> Any:
    """Windows of tiles (n, window, tiles, values) -> (n, dim)."""
    n, window = tiles.shape[:2]
    seen = _layer(weights, "tile", tiles).clip(min=0)
    frames = _layer(weights, "frame", seen.reshape(n, window, -1)).clip(min=0)
    hidden = _layer(weights, "window", frames.reshape(n, -1)).clip(min=0)
    return _unit(_layer(weights, "visual", hidden))


def encode_texts(weights: Weights, counts: Any) -> Any:
    """Bags of words (n, buckets) -> (n, dim), in a space of its own."""
    return _unit(_layer(weights, "text", _layer(weights, "word", counts)))


def imagine(weights: Weights, texts: Any) -> Any:
    """Encoded texts (n, dim) -> goals (n, dim) in the space of pictures."""
    return _unit(_layer(weights, "prior", _layer(weights, "prior_hidden", texts).clip(min=0)))


def _layer(weights: Weights, name: str, inputs: Any) -> Any:
    outputs = inputs @ weights[f"{name}.weight"]
    return outputs + weights[f"{name}.bias"] if name in BIASED else outputs


def _unit(vectors: Any) -> Any:
    return vectors / ((vectors * vectors).sum(-1)[..., None] + 1e-12) ** 0.5
