"""The goal model of a contrastive checkpoint, and its file: safetensors, whose header says what the weights are of."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from proctor.errors import InputError, optional
from proctor.suites.goals.contrastive import nets
from proctor.suites.goals.contrastive.inputs import tiles, word_counts
from proctor.suites.goals.contrastive.nets import BIASED, Architecture
from proctor.suites.goals.protocol import GoalModel

FORMAT = "proctor-contrastive-goals-1"


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """`weights`: float32 by name. `centroids` (skills, dim): the mean picture of success of each of `skills`."""

    architecture: Architecture
    weights: Mapping[str, np.ndarray]
    skills: tuple[str, ...]
    centroids: np.ndarray

    def hash_of(self, layers: tuple[str, ...]) -> str:
        """Eight digits that change with the weights of these layers."""
        digest = hashlib.sha256()
        for name in sorted(self.weights):
            if name.partition(".")[0] in layers:
                digest.update(name.encode() + np.ascontiguousarray(self.weights[name]).tobytes())
        return digest.hexdigest()[:8]


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    from safetensors.numpy import save_file

    header = {
        "format": FORMAT,
        "architecture": json.dumps(asdict(checkpoint.architecture)),
        "skills": json.dumps(checkpoint.skills),
    }
    save_file({**checkpoint.weights, "centroids": checkpoint.centroids}, path, metadata=header)


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Raises InputError where there is no such file, or it is no goal model's, or a tensor has another shape than its
    header says."""
    safetensors = optional("safetensors", "reading a goal model", "crafter")
    if not os.path.isfile(path):
        raise InputError(f"no goal model {path}; train one with examples/train_goals.py, or name another checkpoint")
    try:
        with safetensors.safe_open(str(path), framework="np") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
    except safetensors.SafetensorError as error:
        raise InputError(f"{path} cannot be read as safetensors: {error}") from None
    if header.get("format") != FORMAT:
        raise InputError(
            f"{path} is no contrastive goal model: its header says format {header.get('format')!r}; expected {FORMAT}"
        )
    architecture, skills = Architecture(**json.loads(header["architecture"])), tuple(json.loads(header["skills"]))
    _check_shapes(tensors, architecture, len(skills), path)
    centroids = tensors.pop("centroids")
    return Checkpoint(architecture, tensors, skills, centroids)


def _check_shapes(tensors: Mapping[str, np.ndarray], architecture: Architecture, skills: int, path: str | Path) -> None:
    expected: dict[str, tuple[int, ...]] = {"centroids": (skills, architecture.dim)}
    for layer, shape in architecture.shapes().items():
        expected[f"{layer}.weight"] = shape
        if layer in BIASED:
            expected[f"{layer}.bias"] = shape[1:]
    for name in sorted(expected.keys() | tensors.keys()):
        found = tensors[name].shape if name in tensors else "nothing"
        if found != expected.get(name, "nothing"):
            raise InputError(
                f"{path}, tensor {name}: found {found}, expected {expected.get(name, 'nothing')}; "
                "train it again with examples/train_goals.py"
            )


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
