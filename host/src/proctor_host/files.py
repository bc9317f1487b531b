"""Writing a file into a folder that may be somebody else's: no link in it is followed, and the file is whole or not
there."""

from __future__ import annotations

import os
from pathlib import Path

from proctor_host.errors import InputError

NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def refuse_link(path: Path) -> None:
    """Raise InputError where a file or folder to write to is a link."""
    if os.path.islink(path):
        raise InputError(
            f"{path} is a link to {os.readlink(path)}, and nothing is written through links in a folder that may be "
            "somebody else's; remove it, or put what it leads to in its place"
        )


def write_synced(path: Path, data: bytes) -> None:
    """Write bytes under a temporary name, sync, rename; all in the folder as it was found, which is no link."""
    temporary = path.name + ".tmp"
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        refuse_link(path.parent)
        raise
    try:
        _write(_new(temporary, folder), data)
        os.replace(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        os.close(folder)


def _new(name: str, folder: int) -> int:
    """A new file in an open folder, in the place of what has its name."""
    try:
        return os.open(name, NEW, 0o644, dir_fd=folder)
    except FileExistsError:
        os.unlink(name, dir_fd=folder)
        return os.open(name, NEW, 0o644, dir_fd=folder)


def _write(fd: int, data: bytes) -> None:
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.fsync(fd)
    finally:
        os.close(fd)
