"""The list of pictures in a run folder: what was written is read, and what somebody else wrote is not believed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proctor.record.moments import LIST, Portrait, Shot, read_portraits, write_portraits

DRAWN = Portrait("ab12", (Shot("start", "0.00 s", "pictures/a.start.png"), Shot("end", "1 s", "pictures/a.end.png")))
SKIPPED = Portrait("cd34", skipped="no graphics context")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pictures").mkdir()
    return tmp_path


def test_what_was_written_is_read(folder: Path) -> None:
    portraits = {"trials/b.npz": SKIPPED, "trials/a.npz": DRAWN}
    write_portraits(folder, portraits)
    assert read_portraits(folder) == portraits
    first = (folder / LIST).read_bytes()
    write_portraits(folder, dict(reversed(portraits.items())))
    assert (folder / LIST).read_bytes() == first, "the order of the trials changes nothing"


def test_pictures_that_an_older_list_named_are_removed_and_no_others(folder: Path) -> None:
    write_portraits(folder, {"trials/a.npz": DRAWN})
    names = ("a.start.png", "a.end.png", "of_another_section.png")
    for name in names:
        (folder / "pictures" / name).touch()
    write_portraits(folder, {"trials/a.npz": Portrait("ab12", DRAWN.shots[:1])})
    assert sorted(p.name for p in (folder / "pictures").iterdir()) == ["a.start.png", "moments.json", names[2]]


@pytest.mark.parametrize("file", ["/etc/passwd.png", "pictures/../x.png", "pictures/a.html", "videos/a.png", 7, None])
def test_a_picture_elsewhere_is_not_believed(folder: Path, file: object) -> None:
    entry = {"sha256": "", "skipped": None, "shots": [{"name": "start", "words": "", "file": file}]}
    (folder / LIST).write_text(json.dumps({"trials/a.npz": entry}))
    assert read_portraits(folder) == {}


@pytest.mark.parametrize("text", ["", "[", "[]", '{"a": 1}', '{"a": {"shots": 3}}', "null"])
def test_a_damaged_list_is_none(folder: Path, text: str) -> None:
    (folder / LIST).write_text(text)
    assert read_portraits(folder) == {}


def test_without_a_list_there_are_none(tmp_path: Path) -> None:
    assert read_portraits(tmp_path) == {}
