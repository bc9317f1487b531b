"""Kernels are compiled before a run, once, and a kernel that does not compile stops nobody."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from proctor import kernels
from proctor.registry import SUITES
from proctor.suites import find_suite


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package `warmed` whose function notes that it was called; marks go to a folder of their own."""
    folder = tmp_path / "warmed"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "kernel.py").write_text(
        "from pathlib import Path\n"
        f"def warm():\n    with Path({str(tmp_path / 'calls')!r}).open('a') as f:\n        f.write('x')\n"
        "def broken():\n    raise SystemExit(3)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(kernels, "_folder", lambda: tmp_path / "marks")
    return tmp_path


def calls(folder: Path) -> int:
    path = folder / "calls"
    return len(path.read_text()) if path.exists() else 0


def test_once_until_its_sources_change(package: Path) -> None:
    for _ in range(2):
        kernels.compile_first(["warmed.kernel:warm"], lambda: None)
    assert calls(package) == 1
    with (package / "warmed" / "kernel.py").open("a") as file:
        file.write("# changed\n")
    kernels.compile_first(["warmed.kernel:warm"], lambda: None)
    assert calls(package) == 2


def test_what_fails_is_logged_and_tried_again(package: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "proctor"):
        for _ in range(2):
            kernels.compile_first(["warmed.kernel:broken", "warmed.kernel:warm"], lambda: None)
    assert caplog.messages == ["compiling warmed.kernel:broken beforehand failed with exit code 3"] * 2
    assert calls(package) == 1


def test_the_caller_is_told_that_it_takes_time(package: Path) -> None:
    seen: list[int] = []
    kernels.compile_first(["warmed.kernel:warm"], lambda: seen.append(1))
    assert seen


def test_an_impatient_caller_leaves_no_process_behind(package: Path) -> None:
    def leave() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kernels.compile_first(["warmed.kernel:warm"], leave)


@pytest.mark.parametrize("suite", SUITES.names())
def test_kernels_of_suites_exist(suite: str) -> None:
    from proctor.registry import import_object

    for target in find_suite(suite).kernels:
        assert callable(import_object(target))


def test_a_checksum_sees_every_file_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    before = kernels.checksum(tmp_path)
    (tmp_path / "b.py").write_text("y = 1\n")
    both = kernels.checksum(tmp_path)
    (tmp_path / "b.py").write_text("y = 2\n")
    assert len({0, before, both, kernels.checksum(tmp_path)}) == 4


# What is kept --------------------------------------------------------------------------------------------------------


def twice(x: float) -> float:
    return 2 * x


def test_a_kernel_is_compiled_where_nothing_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation and a home that cannot be written to, as in containers and nightly jobs."""
    from numba.core.caching import CompileResultCacheImpl

    monkeypatch.setattr(CompileResultCacheImpl, "_locator_classes", [])
    assert kernels.kept(nogil=True)(twice)(2.5) == 5.0


def test_a_kernel_is_compiled_where_the_disk_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core.caching import IndexDataCacheFile

    tried: list[str] = []

    def full(*args: object) -> None:
        tried.append("save")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(IndexDataCacheFile, "save", full)
    assert kernels.kept(nogil=True)(twice)(2.5) == 5.0
    assert tried == ["save"]
