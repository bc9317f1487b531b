"""Of what a worker prints, the beginning and the end are kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_host import output
from proctor_host.output import HALF, MOST, Output, last_lines, open_log


def written(folder: Path, chunks: list[bytes]) -> bytes:
    path = folder / "log"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    kept = Output(fd)
    for chunk in chunks:
        kept.add(chunk)
    kept.close()
    os.close(fd)
    return path.read_bytes()


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_what_is_kept_does_not_depend_on_how_it_comes(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[bytes]
) -> None:
    folder, data = tmp_path_factory.mktemp("log"), b"".join(chunks)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output, "HALF", 25)
        kept = written(folder, chunks)
        assert kept == written(folder, [data])
    if len(data) <= 50:
        assert kept == data
    else:
        said = b"\n[%d bytes that this worker printed are left out here]\n" % (len(data) - 50)
        assert kept == data[:25] + said + data[-25:]


def test_memory_stays_small() -> None:
    kept = Output(os.open(os.devnull, os.O_WRONLY))
    for _ in range(100):
        kept.add(bytes(HALF // 3))
        assert len(kept._end) <= 2 * HALF


def test_a_full_disk_is_nothing_to_wait_for() -> None:
    fd = os.open("/dev/full", os.O_WRONLY)
    kept = Output(fd)
    kept.add(b"anything")
    kept.close()
    os.close(fd)


def test_a_log_that_has_become_long_is_put_aside(tmp_path: Path) -> None:
    for text in ("first", "second", "third"):
        fd = open_log(tmp_path)
        os.write(fd, text.encode())
        os.ftruncate(fd, MOST + 1)
        os.close(fd)
    os.close(open_log(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["workers.log", "workers.log.1"]
    assert (tmp_path / "workers.log.1").read_bytes()[:5] == b"third"
    assert (tmp_path / "workers.log").stat().st_size == 0


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "workers.log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        open_log(tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_the_last_lines(tmp_path: Path) -> None:
    assert last_lines(tmp_path) == ""
    (tmp_path / "workers.log").write_bytes(b"\n".join(b"line %d" % i for i in range(1000)) + b"\xff\n")
    assert last_lines(tmp_path).splitlines() == [*(f"line {i}" for i in range(990, 999)), "line 999\ufffd"]
