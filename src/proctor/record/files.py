"""Writing into a folder that may be somebody else's: no link in it is followed, and files are whole or not there.

The folder itself may be reached by a link, e.g. one to the newest run: whoever was given it by the user resolves it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from proctor.errors import InputError

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def refuse_link(path: Path) -> None:
    """Raise InputError where a file or folder to write to is a link."""
    if os.path.islink(path):
        raise InputError(
            f"{path} is a link to {os.readlink(path)}, and nothing is written through links in a folder that may be "
            "somebody else's; remove it, or put what it leads to in its place"
        )


def refuse_links_in(folder: Path) -> None:
    """Raise InputError where a folder that is to be worked on has a link in it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                refuse_link(Path(entry.path))


def write_synced(path: Path, data: bytes) -> None:
    """Write bytes under a temporary name, sync, rename; all in the folder as it was found, which is no link."""
    refuse_link(path.parent)
    temporary = path.name + ".tmp"
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        _write(os.open(temporary, _NEW, 0o644, dir_fd=folder), data)
        os.replace(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        os.close(folder)


def _write(fd: int, data: bytes) -> None:
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.fsync(fd)
    finally:
        os.close(fd)


def remove_leftovers(folder: Path) -> None:
    """Remove what writers left in a folder when they died: files under temporary names. Nobody else may be writing."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".tmp") and entry.is_file(follow_symlinks=False):
                os.unlink(entry.path)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new and empty file beside `path` to write to; it takes the place of `path` when the block ends, and is removed
    when the block raises."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    begin(temporary)
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def begin(path: Path) -> None:
    """Make a new and empty file, in the place of whatever was there, for a program that opens files by their names."""
    refuse_link(path.parent)
    path.unlink(missing_ok=True)
    os.close(os.open(path, _NEW, 0o666))


def no_follow(path: str, flags: int) -> int:
    """An `opener` for `open`: the file is no link."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)
