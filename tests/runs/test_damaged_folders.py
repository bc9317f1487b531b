"""Run folders that somebody or something has damaged: every verb answers with a result or a sentence."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from crossing import EVERY
from examining import examination, policy
from telling import Tell

from proctor import Run, config_from_dict, run_evaluation

VERBS = ("report", "compare", "leaderboard", "power", "score", "replay", "resume")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    keys = {"n_trials": 3, "agents": [policy("Noisy"), policy("Linear")]}
    return run_evaluation(config_from_dict(examination(tmp_path_factory.mktemp("sound"), **keys))).path


@pytest.fixture
def run(sound: Path, tmp_path: Path) -> Path:
    """A run of this test's own."""
    return shutil.copytree(sound, tmp_path / sound.name)


def every_verb(tell: Tell, run: Path, verbs: Sequence[str] = VERBS) -> dict[str, tuple[int, str]]:
    """What the verbs say: an exit code and the errors. None of them ends in a traceback."""
    more = {"power": ["--difference", "0.1"], "replay": ["linear/toy/0000"], "resume": ["--set", "n_trials=4"]}
    said = {verb: tell(verb, run, *more.get(verb, [])) for verb in verbs}
    for verb, answer in said.items():
        assert answer.code in (0, 1, 2), verb
        assert "Traceback" not in answer.err, verb
    return {verb: (answer.code, answer.err) for verb, answer in said.items()}


DAMAGED = [
    "", "{", "null", "[]", '"text"', "3", "NaN", "[" * 100_000, "\0", "{}", '{"sessions": 3}', '{"sessions": [3]}',
    '{"sessions": [{}], "current": 3}', '{"sessions": {}, "current": {}}', '{"sessions": [], "current": []}',
    '{"sessions": [{"versions": 3, "numeric_threads": "x"}], "current": {"versions": []}}',
    '{"sessions": [{"numeric_threads": -1}, {"numeric_threads": [1]}, {"numeric_threads": "a"}]}',
    '{"sessions": [{"warnings": 3, "trials": "x"}], "current": {"versions": {"numpy": 3}}}', b"\xff\xfe",
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(DAMAGED)))
def test_a_damaged_environment_file_costs_no_verb_its_result(run: Path, number: int, tell: Tell) -> None:
    """Every content meets every second verb, and every verb every second content (PROCTOR_TESTS=all: all of them)."""
    content, verbs = DAMAGED[number], VERBS if EVERY else VERBS[number % 2 :: 2]
    (run / "environment.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert {verb: code for verb, (code, _) in every_verb(tell, run, verbs).items() if code} == {}


ODD: list[tuple[str, Any, str]] = [
    ("outcome", "victory", "outcome"),
    ("outcome", None, "outcome"),
    ("success", "yes", "success"),
    ("success", 7, "success"),
    ("steps_total", "many", "steps_total"),
    ("steps_total", -1, "steps_total"),
    ("max_steps", 0.5, "max_steps"),
    ("episode_reward", "much", "episode_reward"),
    ("wall_time_s", b"\0", "wall_time_s"),
    ("metrics", "[1]", "metrics"),
    ("metrics", "{", "metrics"),
    ("metrics", None, "metrics"),
    ("error", b"\xff", "error"),
    ("trace", "no hex", "trace"),
    ("npz", b"x", "npz"),
    ("npz_size", "x", "npz_size"),
    ("faults", "{", "faults"),
    ("attempts", "x", "attempts"),
    ("seed", "x", "seed"),
    ("seed", -1, "seed"),
    ("clipped_steps", "x", "clipped_steps"),
    ("after_stop", 5, "after_stop"),
    ("idx", -1, "index"),
    ("agent", "nobody", "agent"),
    ("task", "nowhere", "task"),
    ("state", "lost", "state"),
    ("agent_position", "x", "agent_position"),
]


@pytest.mark.parametrize(("column", "value", "named"), ODD, ids=[f"{c}-{v!r}" for c, v, _ in ODD])
def test_an_odd_row_of_the_ledger_is_named(run: Path, column: str, value: Any, named: str, tell: Tell) -> None:
    with sqlite3.connect(run / "ledger.sqlite") as ledger:
        ledger.execute("PRAGMA ignore_check_constraints = ON")
        try:
            ledger.execute(f"UPDATE trials SET \"{column}\" = ? WHERE agent = 'linear' AND idx = 1", (value,))
        except sqlite3.IntegrityError:
            pytest.skip("the schema does not take it")
    ledger.close()
    for verb, (code, errors) in every_verb(tell, run).items():
        assert code == 2, (verb, errors)
        assert f"{run / 'ledger.sqlite'} is damaged: " in errors, verb
        assert named in errors, verb


def test_without_its_trials_a_run_is_reported_and_resumed(run: Path, tell: Tell) -> None:
    shutil.rmtree(run / "trials")
    codes = {verb: code for verb, (code, _) in every_verb(tell, run).items()}
    assert codes == {"report": 0, "compare": 0, "leaderboard": 0, "power": 0, "score": 2, "replay": 0, "resume": 0}
    assert len(list((run / "trials").iterdir())) == 8


@pytest.fixture
def read_only(run: Path) -> Iterator[Path]:
    """The run, in a folder of its own in which nothing can be written: root may write anywhere, so that the test is
    somebody else meanwhile."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        folder = Path(place) / "run"
        shutil.copytree(run, folder)
        os.chmod(place, 0o755)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)
        try:
            yield folder
        finally:
            if root:
                os.seteuid(0)
            for path in (folder, folder / "trials"):
                path.chmod(0o755)


def test_a_run_on_a_read_only_disk_is_read_and_stays_as_it_is(
    read_only: Path, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as out:
        monkeypatch.setattr(tempfile, "tempdir", out)
        before = _unread(read_only)
        for verb in ("report", "compare", "leaderboard"):
            said = tell(verb, read_only, "--out", f"{out}/files")
            assert said.code == 0, said.err
            assert Path(out, "files", f"{verb}.json").is_file()
            refused = tell(verb, read_only)
            assert refused.code == 2
            assert "Permission denied" in refused.err
            assert "name a folder: --out FOLDER" in refused.err
            assert "Traceback" not in refused.err
        assert tell("power", read_only, "--difference", "0.1").code == 0
        for verb in ("score", "resume"):
            said = tell(verb, read_only, "--trust")
            assert said.code == 2
            assert f"{read_only} cannot be written to: Permission denied; copy the folder to a place" in said.err
        assert _unread(read_only) == before
        assert [path.name for path in Path(out).iterdir()] == ["files"], "copies of the ledger are removed"


def _unread(folder: Path) -> dict[Path, tuple[int, ...]]:
    """What is known of the files of a folder that reading them does not change."""
    stats = {path: path.stat() for path in folder.rglob("*")}
    return {
        path: (one.st_ino, one.st_mode, one.st_size, one.st_mtime_ns, one.st_ctime_ns) for path, one in stats.items()
    }


def test_a_report_elsewhere_is_the_report_that_is_here(run: Path, tell: Tell, tmp_path: Path) -> None:
    assert tell("report", run).code == 0
    assert tell("report", run, "--out", tmp_path / "out").code == 0
    assert (tmp_path / "out" / "summary.csv").read_bytes() == (run / "summary.csv").read_bytes()
    there, here = (json.loads(tell("report", run, *out, "--json").out) for out in (("--out", tmp_path / "out"), ()))
    for report in (there, here):
        assert report.pop("generated_at")
    assert there == here


def _spots(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], bool]]:
    """Every key (True) and every plain value (False) in a value, the same place of a list's items once."""
    if isinstance(value, dict):
        for key, own in value.items():
            yield (*path, key), True
            yield from _spots(own, (*path, key))
    elif isinstance(value, list):
        for own in value[:1]:
            yield from _spots(own, (*path, 0))
    else:
        yield path, False


def _altered(value: Any, path: tuple[str | int, ...], key: bool) -> Any:
    """With another name for a key, or a value of another type."""
    holder = value = {"": json.loads(json.dumps(value))}
    for step in ("", *path)[:-1]:
        holder = holder[step]
    last = ("", *path)[-1]
    if key:
        holder[f"{last}x"] = holder.pop(last)
    else:
        holder[last] = 7 if isinstance(holder[last], str) else "x"
    return value[""]


def test_each_key_and_value_of_a_ledger_s_notes_may_be_damaged(examine: Callable[..., Run], tell: Tell) -> None:
    run = examine(n_trials=2, agents=[policy("Noisy")]).path
    extra = {"ratings": [{"agent": "noisy", "task": "toy", "index": 0, "rater": "ann", "blind": True, "success": True}],
             "looks": [1], "initial_states": {"toy": 50}, "corrected": ["a row"], "imported_from": "a.csv"}  # fmt: skip
    with run_ledger(run) as db:
        notes = dict(db.execute("SELECT key, value FROM meta"))
        notes |= {key: json.dumps(value) for key, value in extra.items()}
        db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", notes.items())
    assert tell("report", run).code == 0
    for note, text in notes.items():
        for path, key in _spots(json.loads(text)):
            with run_ledger(run) as db:
                new = json.dumps(_altered(json.loads(text), path, key))
                db.execute("UPDATE meta SET value = ? WHERE key = ?", (new, note))
            answer = tell("report", run)
            assert answer.code in (0, 1, 2), (note, path)
            assert "Traceback" not in answer.err, (note, path)
        with run_ledger(run) as db:
            db.execute("UPDATE meta SET value = ? WHERE key = ?", (text, note))


@contextmanager
def run_ledger(run: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(run / "ledger.sqlite")) as db, db:
        yield db
