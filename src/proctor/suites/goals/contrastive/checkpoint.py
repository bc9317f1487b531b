"""The file of a contrastive goal model: safetensors, whose header says what the weights are of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from proctor.errors import InputError, optional
from proctor.suites.goals.contrastive.nets import BIASED, Architecture

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
    if not Path(path).is_file():
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
