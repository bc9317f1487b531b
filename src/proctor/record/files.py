"""Writing into a folder that may be somebody else's: no link in it is followed, and files are whole or not there.

The folder itself may be reached by a link, e.g. one to the newest run: whoever was given it by the user resolves it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from proctor_host.files import NEW, refuse_link, write_synced

__all__ = ["begin", "no_follow", "refuse_link", "refuse_links_in", "remove_leftovers", "replacing", "write_synced"]


def refuse_links_in(folder: Path) -> None:
    """Raise InputError where a folder that is to be worked on has a link in it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                refuse_link(Path(entry.path))


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
    os.close(os.open(path, NEW, 0o666))


def no_follow(path: str, flags: int) -> int:
    """An `opener` for `open`: the file is no link."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)
