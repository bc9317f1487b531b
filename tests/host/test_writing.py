"""Records that are written beside the steps: nothing is reported before it is on disk, and nothing is lost."""

from __future__ import annotations

import select
import threading
from pathlib import Path

import pytest

from proctor_host import writing
from proctor_host.writing import MOST, File, Writer


@pytest.mark.parametrize("beside", [False, True])
def test_what_is_reported_is_on_disk(tmp_path: Path, beside: bool) -> None:
    writer, found = Writer(beside), dict[int, bytes]()
    for i in range(3 * MOST):
        path = tmp_path / str(i)
        writer.write(File(path, b"%d" % i), lambda _, i=i, path=path: found.update({i: path.read_bytes()}))
    writer.finish()
    assert found == {i: b"%d" % i for i in range(3 * MOST)}
    assert writer.pending == 0
    assert not writer.written


def test_nothing_is_reported_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = threading.Event(), threading.Event()

    def slow(path: Path, data: bytes) -> None:
        begun.set()
        go.wait()

    monkeypatch.setattr(writing, "write_synced", slow)
    writer, said = Writer(beside=True), list[object]()
    writer.write(File(tmp_path / "a", b""), said.append)
    begun.wait()
    assert (said, list(writer.written), writer.pending) == ([], [], 1)
    go.set()
    writer.report()
    assert said == [None]


def test_whoever_waits_is_woken_once_for_each_file(tmp_path: Path) -> None:
    writer = Writer(beside=True)
    for i in range(2 * MOST):
        writer.write(File(tmp_path / str(i), b""), lambda _: None)
    poll = select.poll()
    poll.register(writer.fd, select.POLLIN)
    while writer.pending:
        assert poll.poll()
        writer.report()
    assert not poll.poll(0), "what has been reported wakes nobody"


@pytest.mark.parametrize("beside", [False, True])
def test_a_file_that_cannot_be_written_is_reported_with_the_reason(tmp_path: Path, beside: bool) -> None:
    writer, said = Writer(beside), list[BaseException | None]()
    writer.write(File(tmp_path / "nowhere" / "a", b"x"), said.append)
    writer.write(File(tmp_path / "a", b"x"), said.append)
    writer.finish()
    assert sorted(type(one).__name__ for one in said) == ["FileNotFoundError", "NoneType"]
