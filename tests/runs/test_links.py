"""A run folder with links in it, wherever something is written: no verb changes what they lead to."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from examining import examination, policy
from telling import Tell

from proctor import config_from_dict, run_evaluation

FILES = ("config.json", "environment.json", "report.json", "report.md", "report.html", "report.csv", "summary.csv",
         "trials.parquet", "compare.json", "leaderboard.json", "lock", "run.log", "workers.log", "numbers.csv",
         "ledger.sqlite-wal", "ledger.sqlite-shm", "ledger.sqlite-journal")  # fmt: skip
FOLDERS = ("trials", "videos", "pictures")
VERBS = (["report"], ["score"], ["compare"], ["leaderboard"], ["resume", "--set", "n_trials=4"])


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    agents = [policy("Linear"), {**policy("Linear"), "name": "other"}]
    raw = examination(tmp_path_factory.mktemp("plain"), n_trials=2, agents=agents, loggers=[{"kind": "csv"}])
    return run_evaluation(config_from_dict(raw)).path


@pytest.fixture
def run(plain: Path, tmp_path: Path) -> Path:
    """A run of this test's own."""
    return shutil.copytree(plain, tmp_path / plain.name)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """What links lead to: a file, and a folder with files of the names that a run writes."""
    place = tmp_path / "outside"
    place.mkdir()
    (place / "precious").write_text("precious")
    return place


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def tell_all(tell: Tell, run: Path) -> None:
    for verb, *options in VERBS:
        said = tell(verb, run, *options)
        assert said.code in (0, 1, 2)
        assert "Traceback" not in said.err


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_links_and_their_temporary_names_are_not_written_through(
    run: Path, outside: Path, tell: Tell, name: str
) -> None:
    before = contents(outside)
    own = [] if name.startswith(("config", "environment")) else [[name]]
    for planted in (*own, [f"{name}.tmp", f".{name}.{os.getpid()}.tmp"]):
        for each in planted:
            (run / each).unlink(missing_ok=True)
            (run / each).symlink_to(outside / "precious")
        tell_all(tell, run)
        assert contents(outside) == before
        for each in planted:
            (run / each).unlink(missing_ok=True)


@pytest.mark.parametrize("name", FOLDERS)
def test_folders_that_are_links_are_not_written_into(run: Path, outside: Path, tell: Tell, name: str) -> None:
    if (run / name).exists():
        for file in (run / name).iterdir():
            shutil.move(file, outside)
        (run / name).rmdir()
    (run / name).symlink_to(outside)
    before = contents(outside)
    tell_all(tell, run)
    said = tell("resume", run, "--set", "n_trials=6")
    assert said.code == 2
    assert f"{run / name} is a link to {outside}, and nothing is written through links" in said.err
    assert contents(outside) == before


def test_a_ledger_that_is_a_link_is_not_opened(run: Path, outside: Path, tell: Tell) -> None:
    shutil.move(run / "ledger.sqlite", outside / "other.sqlite")
    (run / "ledger.sqlite").symlink_to(outside / "other.sqlite")
    before = contents(outside)
    for verb, *options in VERBS:
        said = tell(verb, run, *options)
        assert said.code == 2
        assert "ledger.sqlite is a link to" in said.err
    assert contents(outside) == before


def test_a_record_with_a_planted_temporary_name_is_written_anew(run: Path, outside: Path, tell: Tell) -> None:
    record = next((run / "trials").iterdir())
    record.unlink()
    record.with_name(record.name + ".tmp").symlink_to(outside / "precious")
    assert tell("resume", run, "--quiet").code == 0
    assert record.is_file()
    assert contents(outside) == {"precious": b"precious"}


def test_a_link_to_a_run_is_as_good_as_the_run(run: Path, tell: Tell) -> None:
    newest = run.parent / "newest"
    newest.symlink_to(run)
    for verb, *options in VERBS:
        assert tell(verb, newest, *options).code == 0
