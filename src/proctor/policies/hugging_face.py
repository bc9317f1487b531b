"""Files of the Hugging Face Hub, by the package huggingface_hub: its cache, its endpoint, its login."""

from __future__ import annotations

import importlib
from pathlib import Path, PurePosixPath
from typing import Any

from proctor.errors import BREAKS, InputError, optional
from proctor.references import Reference
from proctor.registry import did_you_mean

LOGIN = "log in with `hf auth login`, or set HF_TOKEN"


def fetch(reference: Reference, *, folders: bool) -> tuple[Path, str]:
    """The file, or with `folders` the file or folder, in the package's cache, and its commit."""
    hub, errors = _hub()
    try:
        path = _path(hub, errors, reference, folders)
    except BREAKS as error:
        raise InputError(_sentence(hub, errors, reference, error)) from None
    snapshot = path if reference.file is None else path.parents[len(PurePosixPath(reference.file).parts) - 1]
    return path, snapshot.name


def current(reference: Reference) -> str | None:
    """The commit that the revision leads to now."""
    hub, _ = _hub()
    try:
        return hub.HfApi().model_info(reference.home, revision=reference.revision, timeout=10).sha
    except BREAKS:
        return None


def _hub() -> tuple[Any, Any]:
    hub = optional("huggingface_hub", "a checkpoint on the Hugging Face Hub", "hub")
    return hub, importlib.import_module("huggingface_hub.errors")


def _path(hub: Any, errors: Any, reference: Reference, folders: bool) -> Path:
    home, revision, file = reference.home, reference.revision, reference.file
    if file is None:
        return Path(hub.snapshot_download(home, revision=revision))
    try:
        return Path(hub.hf_hub_download(home, file, revision=revision))
    except errors.EntryNotFoundError:
        if not folders:
            raise
        folder = Path(hub.snapshot_download(home, revision=revision, allow_patterns=f"{file}/*")) / file
        if folder.is_dir():
            return folder
        raise


def _sentence(hub: Any, errors: Any, reference: Reference, error: BaseException) -> str:
    """What went wrong and the way out. The texts of the package are left out: they have addresses in them."""
    home, revision, file = reference.home, reference.revision, reference.file
    of = f"{home} on the Hugging Face Hub"
    cause = error.__cause__
    if (
        cause is not None
        and isinstance(error, errors.LocalEntryNotFoundError)
        and isinstance(cause, errors.HfHubHTTPError)
    ):
        error = cause
    match error:
        case errors.GatedRepoError():
            return f"{of} is gated: ask its owners for access on its page, then {LOGIN}"
        case errors.RepositoryNotFoundError():
            return f"there is no {of}, or it is private: look at the name, or {LOGIN}"
        case errors.RevisionNotFoundError():
            return f"{of} has no revision {revision}; expected a branch, a tag or a commit"
        case errors.LocalEntryNotFoundError() | errors.OfflineModeIsEnabled():
            what = "the folder" if file is None else file
            return (
                f"{what} of {of} at {revision} is not in the cache, and the Hub cannot be reached (or HF_HUB_OFFLINE "
                "is set); connect once, or give the path of a local file"
            )
        case errors.EntryNotFoundError():
            return f"{of} has no file {file} at {revision}{did_you_mean(file or '', _files(hub, reference))}"
        case errors.HFValidationError():
            return f'"{home}" is no name of a repository on the Hugging Face Hub; expected ORG/NAME'
        case errors.HfHubHTTPError():
            status = getattr(error.response, "status_code", None)
            way = LOGIN if status in (401, 403) else "try again later, or give the path of a local file"
            return f"the Hugging Face Hub answered {status} for {home}: {way}"
    reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
    return f"{of} could not be fetched ({reason}); look at the connection and the disk, or give a local file's path"


def _files(hub: Any, reference: Reference) -> list[str]:
    try:
        return hub.HfApi().list_repo_files(reference.home, revision=reference.revision)
    except BREAKS:
        return []
