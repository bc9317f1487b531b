"""A disk that takes no more ends a run with one sentence, loses nothing, and leaves a folder that goes on or none."""

from __future__ import annotations

import builtins
import errno
import itertools
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from examining import digests, examination

from proctor import EvalConfig, config_from_dict
from proctor.errors import ProctorError
from proctor.record.disk import DiskError, trouble
from proctor.runs.resume import resume
from proctor.runs.session import RunEnd
from proctor.runs.start import start


class Disk:
    """Takes so many writes to files of one folder, then none."""

    def __init__(self, folder: Path, number: int):
        self.folder, self.number, self.left, self.works = folder, number, 10**9, False

    def write(self, path: Any) -> None:
        if not self.works and str(path).startswith(str(self.folder)):
            self.left -= 1
            if self.left < 0:
                raise OSError(self.number, os.strerror(self.number), str(path))


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    """Every file that is opened for writing, written with `os.write` or made a folder, is counted."""
    found = Disk(tmp_path, errno.ENOSPC)
    opened, written, made = builtins.open, os.write, os.mkdir

    def open_(file: Any, mode: str = "r", *rest: Any, **keys: Any) -> Any:
        if set(mode) & set("wax+"):
            found.write(file)
        return opened(file, mode, *rest, **keys)

    def write(fd: int, data: Any) -> int:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            found.write(os.readlink(f"/proc/self/fd/{fd}"))
        return written(fd, data)

    def mkdir(path: Any, *rest: Any, **keys: Any) -> None:
        found.write(path)
        made(path, *rest, **keys)

    monkeypatch.setattr(builtins, "open", open_)
    monkeypatch.setattr("io.open", open_)
    monkeypatch.setattr(os, "write", write)
    monkeypatch.setattr(os, "mkdir", mkdir)
    return found


def only_folder(root: Path) -> Path | None:
    found = list(root.iterdir()) if root.exists() else []
    assert len(found) <= 1
    return found[0] if found else None


def attempt(cfg: EvalConfig) -> RunEnd | ProctorError:
    """How the run ended, or what it raised."""
    try:
        return start(cfg)
    except ProctorError as error:
        return error


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the double needs /proc")
@pytest.mark.parametrize(
    ("number", "step"), [(errno.ENOSPC, 1), (errno.EDQUOT, 6), (errno.EROFS, 6), (errno.EIO, 6), (errno.EFBIG, 6)]
)
def test_whichever_write_fails_first_the_run_goes_on_to_the_same_end(tmp_path, disk, number, step):
    disk.number = number
    raw = examination(tmp_path / "whole", n_trials=3)
    wanted = digests(start(config_from_dict(raw)).run)
    for n in itertools.count(2, step):  # the first two make the folders
        root = tmp_path / f"runs-{n}"
        cfg = config_from_dict({**raw, "output_root": str(root)})
        disk.left, disk.works = n, False
        ended = attempt(cfg)
        disk.works = True
        if isinstance(ended, RunEnd):
            break
        assert os.strerror(number) in str(ended)
        assert "\n" not in str(ended)
        folder = only_folder(root)
        assert str(ended).endswith(f"proctor resume {folder}" if folder else "run the same command again")
        assert digests((start(cfg) if folder is None else resume(folder)).run) == wanted
    assert n > 2
    assert digests(ended.run) == wanted


def test_a_disk_that_takes_no_folder_is_a_full_disk(tmp_path, disk):
    disk.left = 0
    ended = attempt(config_from_dict(examination(tmp_path / "runs")))
    assert isinstance(ended, DiskError)
    assert str(ended).startswith("cannot make a run folder under output_root")
    assert str(ended).endswith("run the same command again")


def test_a_ledger_that_is_full_is_said_as_well(tmp_path, monkeypatch):
    from proctor.record.ledger import Ledger

    before = Ledger.finish

    def finish(self: Ledger, results: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Ledger, "finish", finish)
    with pytest.raises(DiskError, match=r"takes no more \(database or disk is full, .* MB free\); 0 of 5 trials are"):
        start(config_from_dict(examination(tmp_path)))
    monkeypatch.setattr(Ledger, "finish", before)
    folder = only_folder(tmp_path)
    assert folder is not None
    assert resume(folder).complete


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (OSError(errno.ENOSPC, "x"), os.strerror(errno.ENOSPC)),
        (sqlite3.OperationalError("disk I/O error"), "disk I/O error"),
        (RuntimeError("IO Error: could not write: No space left on device"), os.strerror(errno.ENOSPC)),
        (OSError(errno.EACCES, "x"), None),
        (ValueError("a value"), None),
    ],
)
def test_what_is_the_disk_s_fault(error, why):
    assert trouble(error) == why


def test_an_error_while_a_full_disk_is_left_is_the_disk_s_fault():
    error = KeyError("what came after")
    error.__context__ = OSError(errno.EDQUOT, "x")
    assert trouble(error) == os.strerror(errno.EDQUOT)


def test_a_disk_without_room_for_the_lock_is_made_room_on_and_resumed(tmp_path, monkeypatch):
    run = start(config_from_dict(examination(tmp_path))).run
    before = os.open

    def full(path, *args, **kwargs):
        if str(path).endswith("lock"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return before(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(DiskError, match=r"No space left on device.*; 5 of 5 trials are .*proctor resume"):
        resume(run.path)


def proctor(*arguments: object, limit: str = "pass") -> subprocess.CompletedProcess[str]:
    code = f"import sys; {limit}; from proctor.cli import main; sys.argv[0] = 'proctor'; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize(("kind", "size"), [("inline", 4096), ("inline", 90_000), ("process", 90_000)])
def test_a_limit_on_the_size_of_files_is_one_sentence(tmp_path, kind, size):
    config = tmp_path / "config.yml"
    raw = examination(tmp_path / "runs", n_trials=150, workers=kind)
    config.write_text(yaml.safe_dump(raw))
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))"
    said = proctor("run", config, "--quiet", limit=limit)
    assert_ended_well(said, tmp_path / "runs")


@contextmanager
def small_disk(place: Path, kilobytes: int) -> Iterator[None]:
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", str(place)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if done.returncode:
        pytest.skip(f"no disk may be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize(("kind", "kilobytes"), [("inline", 32), ("inline", 200), ("process", 200)])
def test_a_disk_that_is_really_full(tmp_path, kind, kilobytes):
    config, place = tmp_path / "config.yml", tmp_path / "disk"
    config.write_text(yaml.safe_dump(examination(place / "runs", n_trials=60, workers=kind)))
    with small_disk(place, kilobytes):
        said = proctor("run", config, "--quiet")
        subprocess.run(["mount", "-o", "remount,size=20m", str(place)], check=True)
        assert_ended_well(said, place / "runs")


def assert_ended_well(said: subprocess.CompletedProcess[str], root: Path) -> None:
    """One sentence and exit code 1; a folder that `resume` finishes, or none."""
    assert said.returncode == 1, said.stderr
    assert "Traceback" not in said.stderr
    assert "takes no more" in said.stderr
    folder = only_folder(root)
    if folder is not None:
        assert said.stderr.rstrip().endswith(f"proctor resume {folder}")
        again = proctor("resume", folder, "--quiet")
        assert again.returncode == 0, again.stderr
