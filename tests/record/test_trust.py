"""What the user trusts: by content and name, in the user's state folder, whatever has become of that."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from proctor.config.code import Code
from proctor.errors import InputError
from proctor.record import trust

CODE = Code("scoring.mode", "/a/mine.py:f", "f", Path("/a/mine.py"), "1234")


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "proctor" / "trusted"


def test_nothing_is_trusted_until_it_is_remembered(store: Path) -> None:
    assert trust.untrusted([CODE]) == [CODE]
    trust.remember([CODE])
    assert trust.untrusted([CODE]) == []
    assert [file.read_text() for file in store.iterdir()] == ["1234 '/a/mine.py:f'\n"]


@pytest.mark.parametrize(
    "other",
    [
        Code("scoring.mode", "/a/mine.py:f", "f", Path("/a/mine.py"), "5678"),
        Code("scoring.mode", "/a/mine.py:os.system", "os.system", Path("/a/mine.py"), "1234"),
    ],
)
def test_other_content_and_another_name_of_it_are_other_code(other: Code) -> None:
    trust.remember([CODE])
    assert trust.untrusted([CODE, other]) == [other]


def test_the_same_content_elsewhere_is_the_same_code() -> None:
    trust.remember([CODE])
    assert trust.untrusted([Code("x", "/b/theirs.py:f", "f", Path("/b/theirs.py"), "1234")]) == []


def test_without_trust_the_error_names_the_code_its_hash_and_the_way_out() -> None:
    with pytest.raises(InputError) as error:
        trust.require([CODE], Path("runs/theirs"), trust=False, instead="; or look at report.html")
    assert str(error.value) == (
        "runs/theirs names code that would run on this machine with your rights. You have neither run nor trusted it "
        "before, or it was changed since:\n  scoring.mode: /a/mine.py:f (sha256 1234)\n"
        "Read it, then say --trust; or look at report.html"
    )
    trust.require([CODE], Path("runs/theirs"), trust=True)
    trust.require([CODE], Path("runs/theirs"), trust=False)


def test_a_store_that_is_no_folder_trusts_nothing_and_says_what_it_cannot_remember(
    store: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store.parent.mkdir(parents=True)
    store.write_text("damaged")
    with caplog.at_level(logging.WARNING, "proctor"):
        trust.remember([CODE])
    assert "that /a/mine.py:f is trusted cannot be remembered" in caplog.text
    assert trust.untrusted([CODE]) == [CODE]


def test_a_relative_state_home_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert trust.folder() == tmp_path / ".local" / "state" / "proctor" / "trusted"
