"""Files that an agent names: finding them, their hashes, and what to do with those that no loader reads. Checkpoints
that lie on a hub, by reference (`proctor.references`), are fetched."""

from __future__ import annotations

import hashlib
import inspect
import os
from pathlib import Path

from proctor.errors import InputError
from proctor.references import HF, Reference, is_reference, parse
from proctor.registry import did_you_mean, import_object


def find_file(name: str, base: Path | None, what: str) -> Path:
    """The file called `name`, relative to `base` (the config's folder); it is fetched where `name` is a reference to a
    hub. Raises InputError where there is none."""
    if is_reference(name):
        return fetched(name, what, folders=False)[0]
    path = find_path(name, base, what)
    if os.path.isfile(path):
        return path
    siblings = [p.name for p in path.parent.iterdir()] if os.path.isdir(path.parent) else []
    if os.path.isdir(path):
        raise InputError(f"{what}: {path} is a folder")
    raise InputError(f"{what}: no file {path}{did_you_mean(path.name, siblings)}")


def find_path(name: str, base: Path | None, what: str) -> Path:
    """As `find_file`, for a file or a folder, which need not exist where `name` is a path."""
    if is_reference(name):
        return fetched(name, what, folders=True)[0]
    path = Path(name).expanduser()
    return path if base is None else base / path


def files_in(folder: Path) -> dict[str, Path]:
    """All files in a folder and its folders, by their paths from it on; less what Python compiles beside sources."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    return {path.relative_to(folder).as_posix(): path for path in found}


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def source_file(target: str, base: Path | None) -> dict[str, Path]:
    """The source file behind an import string, by role; empty where there is none (a compiled module)."""
    module = target.partition(":")[0]
    if module.endswith(".py"):
        return {f"source {module}": find_file(module, base, f"import string {target}")}
    attribute_owner = import_object(target, base)
    try:
        path = inspect.getsourcefile(inspect.unwrap(attribute_owner))
    except TypeError:
        path = None
    return {} if path is None else {f"source {module}": Path(path)}


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


def fetched(text: str, what: str, *, folders: bool) -> tuple[Path, Reference]:
    """Where the file of a reference (with `folders`, the file or folder) lies on this machine, fetched if need be, and
    the reference, pinned. One that is pinned and was fetched before needs no network. `what` begins the sentence of an
    InputError."""
    try:
        reference = parse(text)
        if reference.file is None and not folders:
            raise InputError(f"{text} is a whole folder; name the file in it: {text.rstrip('/')}/FILE")
        if reference.scheme == HF:
            from proctor.policies.hugging_face import fetch
        else:
            from proctor.policies.wandb_artifacts import fetch
        path, revision = fetch(reference, folders=folders)
    except InputError as error:
        raise InputError(f"{what}: {error}") from None
    return path, reference.at(revision)


def newest(text: str) -> str | None:
    """The revision that a reference leads to now; None where that cannot be found out, for want of a network or of
    rights."""
    reference = parse(text)
    if reference.scheme == HF:
        from proctor.policies.hugging_face import current
    else:
        from proctor.policies.wandb_artifacts import current
    return current(reference)
