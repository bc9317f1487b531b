"""A run that goes on in another process, is killed, and is taken up again, as somebody who only looks sees it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from examining import examination
from viewing import Started, starting, until, viewer

from proctor import Run, config_from_dict, run_evaluation
from proctor.record.ledger import Ledger
from proctor.record.opening import reading_only
from proctor.runs.report import read_report
from proctor.view.pages import Pages
from proctor.view.snapshot import Snapshot, Snapshots, signature_of
from proctor.view.states import state_of

pytest.importorskip("starlette", reason="the extra `view` is not installed")
pytest.importorskip("uvicorn", reason="the extra `view` is not installed")


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    with starting(tmp_path) as found:
        yield found


def test_a_run_is_followed_while_it_goes_on_and_after_it_was_killed(started: Started, tmp_path: Path) -> None:
    run = started.run
    with viewer(tmp_path) as served:
        name = run.name
        first = until(lambda: (found := served.get(f"/api/runs/{name}"))["done"] > 2 and found)
        assert (first["state"], first["pid"]) == ("running", started.pid)
        assert first["pulse"]["workers"]
        assert first["pulse"]["memory_bytes"] > 1e7
        with urllib.request.urlopen(f"{served.url}/api/runs/{name}/events", timeout=60) as stream:
            told = [json.loads(line[6:])["done"] for line in _events(stream, 3)]
        assert told == sorted(told)
        assert told[-1] > told[0]
        started.kill()
        after = until(lambda: (found := served.get(f"/api/runs/{name}"))["state"] == "ended" and found)
        assert "did not end by itself" in after["why"]
        assert after["resume"] == f"proctor resume {run}"
        assert after["done"] >= told[-1]
        assert after["pulse"]["done"] <= after["done"] + 2


def _events(stream: Any, n: int) -> Iterator[bytes]:
    while n:
        line = stream.readline()
        if line.startswith(b"data: "):
            n -= 1
            yield line


def test_a_run_that_ends_by_itself_leaves_no_pulse(tmp_path: Path) -> None:
    run = run_evaluation(config_from_dict(examination(tmp_path)))
    assert not (run.path / "live.json").exists()
    assert state_of(run.path, 5, 5) == {"state": "done"}
    stopped = state_of(run.path, 9, 5)
    assert (stopped["state"], stopped["resume"]) == ("stopped", f"proctor resume {run.path}")


def test_a_run_of_another_machine_is_running_while_it_writes_and_quiet_after(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("process 12 on elsewhere")
    assert state_of(tmp_path, 9, 5)["state"] == "running"
    os.utime(tmp_path / "lock", (1.0, 1.0))
    found = state_of(tmp_path, 9, 5)
    assert found["state"] == "quiet"
    assert "process 12 on elsewhere has written nothing" in found["why"].lower()


@pytest.mark.parametrize("text", ["", "process x on y", "process 99999999999 on here", "\x00" * 400])
def test_a_lock_that_names_nobody_is_nobody_s(tmp_path: Path, text: str) -> None:
    (tmp_path / "lock").write_text(text)
    assert state_of(tmp_path, 5, 5) == {"state": "done"}


def test_a_process_that_is_gone_has_ended(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (tmp_path / "lock").write_text(f"process {gone.pid} on {socket.gethostname()}")
    assert state_of(tmp_path, 9, 5)["state"] == "ended"
    assert "All trials are done" in state_of(tmp_path, 5, 5)["why"]


def test_a_ledger_is_read_beside_its_writer_and_nothing_is_left_there(tmp_path: Path) -> None:
    run = run_evaluation(config_from_dict(examination(tmp_path)))
    with Ledger.open(run.path / "ledger.sqlite") as writer:
        writer.set_meta("seconds", 77.0)
        before = sorted(os.listdir(run.path))
        with reading_only(), run.ledger() as copy:
            assert copy.get_meta("seconds") == 77.0
            copy.set_meta("seconds", 1.0)
        assert writer.get_meta("seconds") == 77.0
        assert sorted(os.listdir(run.path)) == before


def test_a_snapshot_is_taken_again_when_the_run_has_changed(tmp_path: Path) -> None:
    run = run_evaluation(config_from_dict(examination(tmp_path)))
    snapshots = Snapshots(trust=False)
    first = snapshots.of(run.path)
    assert snapshots.of(run.path) is first
    with run.ledger() as ledger:
        ledger.set_meta("seconds", 5.0)
    again = until(lambda: (found := snapshots.of(run.path)) is not first and found)
    assert again.read(lambda ledger: ledger.get_meta("seconds")) == 5.0
    snapshots.close()


def test_what_a_run_says_of_itself_is_not_taken_on_trust(tmp_path: Path) -> None:
    run = run_evaluation(config_from_dict(examination(tmp_path)))
    for text in ("[]", "{", '{"spent": 3, "batching": {"a": 1}}'):
        (run.path / "live.json").write_text(text)
        with viewer(tmp_path) as served:
            assert served.get(f"/api/runs/{run.path.name}")["done"] == 5


def test_the_verdict_of_a_run_that_goes_on_is_made_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes processor time that the run could have; where the run has ended, it is made of all trials."""
    run = run_evaluation(config_from_dict(examination(tmp_path)))
    (run.path / "report.json").unlink()
    made: list[int] = []

    def counted(run: Run) -> Any:
        made.append(1)
        return read_report(run)

    monkeypatch.setattr("proctor.view.pages.read_report", counted)
    monkeypatch.setattr("proctor.view.pages.SHARE", 1e-9)
    pages = Pages(trust=False)
    (run.path / "lock").write_text(f"process {os.getpid()} on {socket.gethostname()}")
    for seconds in (1.0, 2.0, 3.0):
        with run.ledger() as ledger:
            ledger.set_meta("seconds", seconds)
        pages.report(Snapshot(run.path, signature_of(run.path), trust=False))
    assert len(made) == 1
    (run.path / "lock").write_text("")
    pages.report(Snapshot(run.path, signature_of(run.path), trust=False))
    assert len(made) == 2
