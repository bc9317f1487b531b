"""Nothing is written through a link that somebody has put into a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.errors import InputError
from proctor.record.files import begin, no_follow, refuse_links_in, replacing, write_synced


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Somebody's file, to which links lead."""
    file = tmp_path / "outside"
    file.write_text("precious")
    return file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def test_a_file_is_replaced_with_all_its_bytes_and_nothing_is_left_beside_it(folder: Path) -> None:
    for data in (b"one", b"the other one"):
        write_synced(folder / "file", data)
        assert [(p.name, p.read_bytes()) for p in folder.iterdir()] == [("file", data)]


@pytest.mark.parametrize("name", ["file", "file.tmp"])
def test_links_in_the_place_of_a_file_or_of_its_temporary_name_are_replaced(
    folder: Path, outside: Path, name: str
) -> None:
    (folder / name).symlink_to(outside)
    write_synced(folder / "file", b"new")
    assert (folder / "file").read_bytes() == b"new"
    assert not (folder / "file").is_symlink()
    assert outside.read_text() == "precious"


def test_a_folder_that_is_a_link_is_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "trials").symlink_to(tmp_path, target_is_directory=True)
    for write in (lambda path: write_synced(path, b"x"), begin, lambda path: replacing(path).__enter__()):
        with pytest.raises(InputError, match=r"trials is a link to .* remove it, or put what it leads to in its place"):
            write(folder / "trials" / "file")
    assert {path.name for path in tmp_path.iterdir()} == {"run"}


def test_a_planted_temporary_name_of_a_report_is_not_followed(folder: Path, outside: Path) -> None:
    with replacing(folder / "report.md") as temporary:
        pass
    temporary.symlink_to(outside)
    with replacing(folder / "report.md") as temporary:
        temporary.write_text("new")
    assert (folder / "report.md").read_text() == "new"
    assert outside.read_text() == "precious"


def test_a_log_that_is_a_link_is_not_opened(folder: Path, outside: Path) -> None:
    (folder / "run.log").symlink_to(outside)
    with pytest.raises(OSError, match="symbolic links"), open(folder / "run.log", "a", opener=no_follow):
        pass


def test_a_folder_to_work_on_has_no_links_in_it_but_may_be_reached_by_one(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "newest").symlink_to(folder)
    refuse_links_in(tmp_path / "newest")
    (folder / "anything").symlink_to("/nowhere")
    with pytest.raises(InputError, match="anything is a link to /nowhere"):
        refuse_links_in(tmp_path / "newest")
