"""The goal model of a contrastive checkpoint."""

from __future__ import annotations

from typing import Literal

import numpy as np

from proctor.errors import InputError
from proctor.suites.goals.contrastive import nets
from proctor.suites.goals.contrastive.checkpoint import read_checkpoint
from proctor.suites.goals.contrastive.inputs import tiles, word_counts
from proctor.suites.goals.protocol import GoalModel


class ContrastiveGoals(GoalModel):
    """Text encoder, encoder of pictures and prior of one checkpoint.

    `prior`: `trained`; or `untrained`, random weights of the same shapes, drawn from `seed`. The encoders are the
    trained ones in both. `noise`: standard deviation of what is added to every entry of a goal, which has length 1
    before and after; 0: the same text always gives the same goal.

    Rows are computed one by one: an embedding does not depend on what else is asked for.
    """

    def __init__(
        self, checkpoint: str, prior: Literal["trained", "untrained"] = "trained", noise: float = 0.0, seed: int = 0
    ):
        if prior not in ("trained", "untrained"):
            raise InputError(f'found prior: {prior}; expected "trained" or "untrained"')
        if not (np.isfinite(noise) and noise >= 0):
            raise InputError(f"found noise: {noise}; expected a number that is not negative")
        read = read_checkpoint(checkpoint)
        self._architecture, self._weights, self._noise = read.architecture, dict(read.weights), noise
        if prior == "untrained":
            self._weights |= nets.initial_weights(read.architecture, nets.PRIOR, np.random.default_rng(seed))
        self.window, self.frame_size = read.architecture.window, read.architecture.frame_size
        self.fingerprint = read.hash_of(nets.VISUAL)
        self.space, self.text_space = f"pictures-{self.fingerprint}", f"texts-{read.hash_of(nets.TEXT)}"

    def embed_goal(self, texts: list[str], rng: np.random.Generator) -> np.ndarray:
        """float32 (n, dim), rows of length 1; noise from `rng`, row after row."""
        encoded = self.encode_text(texts)
        goals = _rows([nets.imagine(self._weights, row[None]) for row in encoded], self._architecture.dim)
        if self._noise:
            goals = goals + np.float32(self._noise) * rng.standard_normal(goals.shape, dtype=np.float32)
            goals /= np.linalg.norm(goals, axis=1, keepdims=True)
        return goals

    def encode_frames(self, frames: np.ndarray) -> np.ndarray:
        """float32 (n, dim), rows of length 1."""
        side = self._architecture.tile_side
        rows = [nets.encode_pictures(self._weights, tiles(window[None], side)) for window in frames]
        return _rows(rows, self._architecture.dim)

    def encode_text(self, texts: list[str]) -> np.ndarray:
        """float32 (n, dim), rows of length 1, in `text_space`."""
        counts = word_counts(texts, self._architecture.buckets)
        return _rows([nets.encode_texts(self._weights, row[None]) for row in counts], self._architecture.dim)


def _rows(made: list[np.ndarray], dim: int) -> np.ndarray:
    return np.concatenate([np.empty((0, dim), np.float32), *made])
