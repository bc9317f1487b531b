"""A disk of a chosen size: a tmpfs, where this process may mount one."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

LARGE = 1 << 30


class SmallDisk:
    """The folder is a disk of its own while this is entered; without the right to mount, it is a plain folder."""

    def __init__(self, folder: Path):
        self.folder, self.mounted = folder, False

    def __enter__(self) -> SmallDisk:
        if may_mount():
            self.mounted = _mount(self.folder, LARGE)
        return self

    def __exit__(self, *exc: object) -> None:
        if self.mounted:
            kept = self.folder.with_name(f"{self.folder.name}.kept")
            shutil.copytree(self.folder, kept, symlinks=True)
            subprocess.run(["umount", "-l", self.folder], check=True)
            self.folder.rmdir()
            kept.rename(self.folder)

    @contextmanager
    def room(self, size: float | None) -> Iterator[None]:
        """Only so many bytes are free meanwhile; None: as many as you like."""
        if size is None or not self.mounted:
            yield
            return
        _resize(self.folder, shutil.disk_usage(self.folder).used + int(size))
        try:
            yield
        finally:
            _resize(self.folder, LARGE)


@cache
def may_mount() -> bool:
    """Whether this process may mount a disk."""
    with TemporaryDirectory() as folder:
        if not _mount(Path(folder), 1 << 16):
            return False
        subprocess.run(["umount", folder], check=True)
    return True


def _mount(folder: Path, size: int) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def _resize(folder: Path, size: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True, capture_output=True)
