"""Files that an agent names: finding them, their hashes, and what to do with those that no loader reads."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from proctor.errors import InputError
from proctor.registry import did_you_mean


def find_file(name: str, base: Path | None, what: str) -> Path:
    """The file called `name`, relative to `base` (the config's folder). Raises InputError where there is none."""
    path = Path(name).expanduser()
    if base is not None:
        path = base / path
    if os.path.isfile(path):
        return path
    siblings = [p.name for p in path.parent.iterdir()] if os.path.isdir(path.parent) else []
    if os.path.isdir(path):
        raise InputError(f"{what}: {path} is a folder")
    raise InputError(f"{what}: no file {path}{did_you_mean(path.name, siblings)}")


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


ARGUMENTS = {".h5": "--keras", ".keras": "--keras", ".tflite": "--tflite"}
"""Ending of a TensorFlow or Keras model -> how tf2onnx is told of it."""
SAVED_MODEL = "saved_model.pb"
"""What makes a folder a TensorFlow model."""


def conversion(checkpoint: str, base: Path | None = None) -> str | None:
    """How to make ONNX of a TensorFlow or Keras model; None for any other file. A relative path starts from `base`."""
    path = Path(checkpoint).expanduser()
    if path.name == SAVED_MODEL:
        path = path.parent
    folder = path if base is None else base / path
    if os.path.isfile(folder / SAVED_MODEL):
        argument = "--saved-model"
    elif path.suffix.lower() in ARGUMENTS:
        argument = ARGUMENTS[path.suffix.lower()]
    else:
        return None
    onnx = f"{path.stem}.onnx"
    return (
        f'"{checkpoint}" is a model of TensorFlow or Keras, which no loader reads; make ONNX of it where TensorFlow is '
        f"installed (pip install tf2onnx; python -m tf2onnx.convert {argument} {path} --output {onnx}), then name it: "
        f"checkpoint: {onnx}"
    )
