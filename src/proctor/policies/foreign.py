"""Models of libraries that no loader reads, and how they become one that is read."""

from __future__ import annotations

from pathlib import Path

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
    if (folder / SAVED_MODEL).is_file():
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
