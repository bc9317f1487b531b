"""The fault campaign finds what it looks for, and a short part of it finds nothing in Proctor."""

from __future__ import annotations

import random
import shutil
import sqlite3
import sys
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from made_up_runs import config, made_up

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


# Schedules ------------------------------------------------------------------------------------------------------------


def test_a_schedule_is_a_function_of_its_seed() -> None:
    from campaign.faults import draw

    assert [draw(seed) for seed in range(50)] == [draw(seed) for seed in range(50)]
    assert len({draw(seed) for seed in range(50)}) == 50


def test_schedules_hold_every_kind_of_fault_and_end_in_peace() -> None:
    from campaign.faults import BETWEEN, ENVIRONMENT, LETHAL, PASSING, draw
    from campaign.smalldisk import may_mount

    drawn = [draw(seed) for seed in range(400)]
    sessions = [session for schedule in drawn for session in schedule.sessions]
    kinds = {fault.kind for session in sessions for fault in (*session.faults, *session.before)}
    kinds |= {kind for schedule in drawn for kind, _ in schedule.tokens}
    assert kinds | (set() if may_mount() else {"small disk"}) == {*BETWEEN, *ENVIRONMENT, *LETHAL, *PASSING}
    assert not any(schedule.sessions[-1].faults or schedule.sessions[-1].before for schedule in drawn)


def test_the_short_campaign_strikes_with_every_kind_of_fault_in_three_runs() -> None:
    from campaign.__main__ import SHORT, SHORT_FIRST
    from campaign.faults import BETWEEN, ENVIRONMENT, LETHAL, PASSING, draw
    from campaign.smalldisk import may_mount
    from campaign.struck import planned

    drawn = [draw(seed) for seed in range(SHORT_FIRST, SHORT_FIRST + 3)]
    assert sum(map(planned, drawn[:2])) < SHORT["faults"] <= sum(map(planned, drawn))
    sessions = [session for schedule in drawn for session in schedule.sessions]
    kinds = {fault.kind for session in sessions for fault in (*session.faults, *session.before)}
    kinds |= {kind for schedule in drawn for kind, _ in schedule.tokens}
    assert not may_mount() or kinds == {*BETWEEN, *ENVIRONMENT, *LETHAL, *PASSING}


# What is noticed ------------------------------------------------------------------------------------------------------


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """A run and a copy of it."""
    path = made_up(config(tmp_path / "runs", ("a", "b"), n_trials=3), lambda trial: trial.index != 1).path
    (path / "trials" / "a_trial0000.npz").write_bytes(b"arrays")
    (path / "summary.csv").write_text("agent;trial;success;wall_time_s\na;0;1;0.5\n")
    shutil.copytree(path, tmp_path / "copy")
    return path, tmp_path / "copy"


def _record(run: Path) -> None:
    (run / "trials" / "a_trial0000.npz").write_bytes(b"arrayz")


def _leftover(run: Path) -> None:
    (run / "trials" / "a_trial0000.npz.tmp").write_bytes(b"")


def _outcome(run: Path) -> None:
    with closing(sqlite3.connect(run / "ledger.sqlite")) as db:
        db.execute("UPDATE trials SET success = 1 - success WHERE agent = 'a' AND idx = 0")
        db.commit()


def _summary(run: Path) -> None:
    (run / "summary.csv").write_text("agent;trial;success;wall_time_s\na;0;0;0.5\n")


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (_record, "record a_trial0000.npz differs"),
        (_leftover, "record a_trial0000.npz.tmp is there too many"),
        (_outcome, "trial a/reach/0: success is 0, not 1"),
        (_summary, "summary.csv differs"),
    ],
)
def test_a_changed_run_is_noticed(pair: tuple[Path, Path], change: Callable[[Path], None], found: str) -> None:
    from campaign.judge import differences

    run, copy = pair
    assert differences(copy, run) == []
    change(copy)
    assert any(found in line for line in differences(copy, run)), differences(copy, run)


def test_how_long_a_trial_took_is_no_difference(pair: tuple[Path, Path]) -> None:
    from campaign.judge import differences

    run, copy = pair
    (copy / "summary.csv").write_text("agent;trial;success;wall_time_s\na;0;1;99.0\n")
    with closing(sqlite3.connect(copy / "ledger.sqlite")) as db:
        db.execute("UPDATE trials SET wall_time_s = 99.0, attempts = 3")
        db.commit()
    assert differences(copy, run) == []


def test_a_finished_trial_that_is_finished_no_more_is_lost(pair: tuple[Path, Path]) -> None:
    from campaign.judge import finished, lost

    run, _ = pair
    before = finished(run)
    assert lost(before, run, set()) == []
    with closing(sqlite3.connect(run / "ledger.sqlite")) as db:
        db.execute("UPDATE trials SET state = 'pending' WHERE agent = 'b' AND idx = 2")
        db.commit()
    assert lost(before, run, set()) == ["trial b/reach/2 was finished as success, and is unfinished"]


# Fuzzing --------------------------------------------------------------------------------------------------------------


def test_fuzzed_configs_are_mostly_wrong_and_sometimes_right() -> None:
    from campaign.grammar import text

    texts = [text(random.Random(seed)) for seed in range(300)]
    assert texts == [text(random.Random(seed)) for seed in range(300)]
    readable = 0
    for found in texts:
        try:
            readable += isinstance(yaml.safe_load(found), dict)
        except (yaml.YAMLError, ValueError, RecursionError):
            continue
    assert 100 < readable < 300


def test_a_damaged_archive_may_be_whole(tmp_path: Path) -> None:
    import io

    from campaign.mutating import mutate_bytes, mutate_zip

    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("a.npy", b"0123456789" * 20)
        archive.writestr("b.npy", b"9876543210" * 20)
    sound = target.getvalue()
    for seed in range(50):
        with zipfile.ZipFile(io.BytesIO(mutate_zip(random.Random(seed), sound))) as archive:
            assert archive.testzip() is None
    assert len({mutate_bytes(random.Random(seed), sound) for seed in range(50)}) > 45


def test_what_a_command_writes_elsewhere_is_noticed(tmp_path: Path) -> None:
    """In a process of its own: a hook cannot be taken away again."""
    import subprocess

    program = f"""
import os
from pathlib import Path
from campaign.guarded import Writes
writes = Writes(Path({str(tmp_path / "here")!r}))
os.makedirs({str(tmp_path / "here")!r}, exist_ok=True)
writes.watching = True
Path({str(tmp_path / "here" / "a")!r}).write_text("fine")
Path({str(tmp_path / "there")!r}).write_text("not fine")
os.rename({str(tmp_path / "here" / "a")!r}, {str(tmp_path / "moved")!r})
print(writes.found)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([f"open {tmp_path / 'there'}", f"os.rename {tmp_path / 'moved'}"])


def test_a_traceback_and_an_odd_exit_code_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from campaign.guarded import say

    def ending(how: BaseException) -> Any:
        def main() -> None:
            raise how

        monkeypatch.setattr("proctor.cli.main", main)
        return say(["check", "config.yml"])

    assert "KeyError: 'lost'" in ending(KeyError("lost")).trace
    assert ending(SystemExit(7)).code == 7
    assert ending(SystemExit(2)).trace == ""


def test_a_case_that_crashes_or_hangs_is_counted_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from campaign import fuzzing

    monkeypatch.setattr(fuzzing, "PROGRAM", "broken_cases")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "support"))
    monkeypatch.setattr(fuzzing, "CASE_S", 2.0)
    tally = fuzzing.fuzz("configs", 6, 0, tmp_path, 1, lambda *_: None)
    assert tally.tried == {"configs: toy": 4, "configs": 2}
    assert [(trouble.what, trouble.again) for trouble in tally.troubles] == [
        ("unexplained", "python -m campaign --configs 1 --first 1"),
        ("hung", "python -m campaign --configs 1 --first 2"),
        ("traceback", "python -m campaign --configs 1 --first 4"),
    ]
    assert "the process ended with -11" in tally.troubles[0].detail


def test_the_table_counts_trouble_for_every_fault_that_may_be_behind_it() -> None:
    from campaign.tally import Tally, Trouble

    tally = Tally()
    tally.tried.update({"a": 3, "b": 1200})
    tally.troubles.append(Trouble("lost", ("a", "b"), "a trial", "again"))
    assert tally.table().splitlines()[2:] == [
        "| a | 3 | 1 | 0 | 0 | 0 | 0 | 0 |",
        "| b | 1,200 | 1 | 0 | 0 | 0 | 0 | 0 |",
        "| **all** | 1,203 | 1 | 0 | 0 | 0 | 0 | 0 |",
    ]


def test_schedules_of_a_cluster_are_counted_and_those_that_fail_can_be_tried_again() -> None:
    from campaign.clusters import judged

    told = (
        '<testsuites><testsuite><testcase name="t[0]"/>'
        '<testcase name="t[1]"><failure message="not equal"/></testcase></testsuite></testsuites>'
    )
    tally = judged(told, 2)
    assert tally.tried.total() == 2
    (trouble,) = tally.troubles
    assert (trouble.what, trouble.detail) == ("changed", "not equal")
    assert trouble.again.endswith("test_cluster_faults.py::t[1]'")
    with pytest.raises(SystemExit, match="2 of 3 schedules"):
        judged(told, 3)
