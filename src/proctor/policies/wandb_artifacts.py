"""Files of Weights & Biases artifacts, by the package wandb and its login.

They are kept in Proctor's cache folder, `wandb/ENTITY/PROJECT/ARTIFACT/VERSION/`: there `files/` grows by the files
that were asked for, and `whole/` has all of them where the folder was.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from proctor import caches
from proctor.errors import BREAKS, InputError, optional
from proctor.references import Reference
from proctor.registry import did_you_mean

LOGIN = "log in with `wandb login`, or set WANDB_API_KEY"
SECONDS = 20
"""How long one question to the service may take."""


def fetch(reference: Reference, *, folders: bool) -> tuple[Path, str]:
    """The file, or where there is none in the reference the folder, in Proctor's cache, and its version."""
    if reference.pinned and (known := _kept(reference)).exists():
        return known, reference.revision
    artifact = _artifact(reference)
    pinned = reference.at(str(artifact.version))
    if not pinned.pinned:
        raise InputError(f"{reference} is said to be the version {pinned.revision!a}; expected v and a number")
    kept = _kept(pinned)
    if not kept.exists():
        _download(artifact, pinned, kept)
    return kept, pinned.revision


def current(reference: Reference) -> str | None:
    """The version that an alias leads to now."""
    try:
        return str(_artifact(reference).version)
    except InputError:
        return None


def _kept(reference: Reference) -> Path:
    folder = caches.folder("wandb").joinpath(*reference.home.split("/"), reference.revision)
    return folder / "whole" if reference.file is None else folder / "files" / reference.file


def _artifact(reference: Reference) -> Any:
    wandb = optional("wandb", "a checkpoint among the artifacts of Weights & Biases", "wandb")
    name = f"{reference.home}:{reference.revision}"
    try:
        return wandb.Api(timeout=SECONDS).artifact(name)
    except BREAKS as error:
        raise InputError(_sentence(wandb, name, error)) from None


def _sentence(wandb: Any, name: str, error: BaseException) -> str:
    """What went wrong and the way out. The texts of the package are left out: they have addresses in them."""
    told = str(error).lower()
    service = "Weights & Biases"
    if "did not respond" in told or "connection" in told or "timed out" in told:
        return f"{service} cannot be reached for {name}; connect once, or give the path of a local file"
    if isinstance(error, wandb.errors.AuthenticationError | wandb.errors.UsageError) or "api key" in told:
        return f"{service} does not know who asks for {name}: {LOGIN}"
    if any(word in told for word in ("permission", "401", "403")):
        return f"{service} gives you no access to {name}: ask its owners, or {LOGIN} as somebody else"
    if "not found" in told or isinstance(error, ValueError):
        return f"{service} has no artifact {name}, or it is private: look at the name and the version, or {LOGIN}"
    why = type(error).__name__
    return f"{service} could not be asked for {name} ({why}); try again, or give the path of a local file"


def _download(artifact: Any, reference: Reference, kept: Path) -> None:
    """Put a file, or the whole folder, where it is kept, all at once. Raises InputError where it is not there."""
    file = reference.file
    known = list(artifact.manifest.entries)
    if odd := [name for name in known if name.startswith("/") or ".." in name.split("/")]:
        raise InputError(f"{reference.home}:{reference.revision} has a file outside of its folder: {odd[0]!a}")
    if file is not None and file not in known:
        raise InputError(
            f"{reference.home}:{reference.revision} has no file {file}; it has "
            f"{', '.join(sorted(known)[:8]) or 'none'}{did_you_mean(file, known)}"
        )
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=caches.folder("wandb"), prefix=".new-") as name:
            new = Path(name) / "new"
            if file is None:
                artifact.download(root=str(new))
                _move(new, kept)
            else:
                artifact.get_entry(file).download(root=str(new))
                _move(new / file, kept)
    except BREAKS as error:
        where = f"{reference.home}:{reference.revision}"
        raise InputError(
            f"{file or 'the folder'} of {where} could not be fetched ({type(error).__name__}); look at the connection "
            "and the disk, or give a local file's path"
        ) from None


def _move(new: Path, kept: Path) -> None:
    """Where another process was quicker, its copy stays."""
    try:
        os.rename(new, kept)
    except OSError:
        if not kept.exists():
            raise
