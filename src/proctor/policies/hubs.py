"""Checkpoints that lie on a hub, by reference (`proctor.references`): fetching them and finding where they lead."""

from __future__ import annotations

from pathlib import Path

from proctor.errors import InputError
from proctor.references import HF, Reference, parse


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
