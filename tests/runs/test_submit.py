"""Jobs that share a queue make the run that one process would have made, whatever happens to them."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from examining import digests, examination, policy, task, timeless

from proctor import InputError, Run, config_from_dict
from proctor.errors import RunError
from proctor.runs.report import write_report
from proctor.runs.submit.queue import Heartbeat, Queue
from proctor.runs.submit.submission import Settings, Submission
from proctor.runs.submit.worker import Work

Examine = Callable[..., Run]
SLOW = {"tasks": [task(kwargs={"nap_s": 0.01})], "agents": [policy("Noisy")], "n_trials": 16, "num_parallel": 1}


def submission(root: Path, jobs: int = 2, lease_s: float = 120.0, **keys: Any) -> Submission:
    cfg = config_from_dict(examination(root / "submitted", **keys))
    return Submission.create(cfg, Settings("local", jobs, lease_s=lease_s))


def quiet(_: str) -> None:
    pass


def until(what: Callable[[], Any], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def merged(made: Submission) -> Run:
    run = made.merge(trust=True)
    write_report(run)
    return Run.of(run)


def test_a_parcel_is_claimed_once(tmp_path: Path) -> None:
    queue = Queue(tmp_path, 40, 60)
    with ThreadPoolExecutor(8) as pool:
        leases = list(pool.map(lambda i: queue.claim(str(i)), range(60)))
    taken = [lease.parcel for lease in leases if lease is not None]
    # A claim may come back empty-handed while others take what it saw; nothing is taken twice, or lost.
    while (lease := queue.claim("last")) is not None:
        taken.append(lease.parcel)
    assert sorted(taken) == list(range(1, 41))


def test_a_stale_lease_is_taken_over_once_and_its_owner_is_told(tmp_path: Path) -> None:
    queue = Queue(tmp_path, 1, 5)
    first = queue.claim("a")
    assert first is not None
    assert queue.claim("b") is None
    assert queue.held() == 1
    os.utime(first.path, (time.time() - 60, time.time() - 60))
    assert queue.held() == 0
    with ThreadPoolExecutor(8) as pool:
        leases = [lease for lease in pool.map(lambda i: queue.claim(str(i)), range(16)) if lease is not None]
    assert [lease.parcel for lease in leases] == [1]
    assert first.lost
    assert not leases[0].lost
    lost = threading.Event()
    first.every_s = 0.01
    with Heartbeat(first, lost.set):
        assert lost.wait(5)


def test_a_lease_stays_fresh_while_its_heart_beats_and_can_be_given_back(tmp_path: Path) -> None:
    queue = Queue(tmp_path, 1, 0.5)
    lease = queue.claim("a")
    assert lease is not None
    with Heartbeat(lease, lambda: None):
        time.sleep(1.0)
        assert queue.claim("b") is None
    lease.give_back()
    assert queue.claim("b") is not None


def test_a_parcel_that_is_done_or_failed_is_not_taken(tmp_path: Path) -> None:
    queue = Queue(tmp_path, 2, 60)
    queue.end(1, "done", {})
    queue.end(2, "failed", {"error": "x"})
    assert not queue.open()
    assert queue.claim("a") is None
    queue.reopen_failed()
    lease = queue.claim("a")
    assert lease is not None
    assert lease.parcel == 2


def test_jobs_make_the_run_of_one_process(tmp_path: Path, examine: Examine) -> None:
    keys = {"agents": [policy("Noisy"), policy("Linear")], "n_trials": 12}
    made = submission(tmp_path, 3, **keys)
    made.submit()
    made.wait(quiet, 0.1)
    run, whole = merged(made), examine(**keys)
    assert digests(run) == digests(whole)
    assert timeless(run) == timeless(whole)
    assert sorted(p.name for p in (run.path / "trials").iterdir()) == sorted(
        p.name for p in (whole.path / "trials").iterdir()
    )
    with run.ledger() as ledger:
        (here,) = ledger.nodes()
        assert (here["host"], here["trials"]) == (socket.gethostname(), 24)
        assert len(list(ledger.placed())) == 24
    with pytest.raises(InputError, match="is finished: it was merged into"):
        made.revive()


def test_a_single_trial_can_be_submitted(tmp_path: Path, examine: Examine) -> None:
    made = submission(tmp_path, 1, n_trials=1)
    work = Work(made, "a")
    work.run()
    made.wait(quiet)
    assert digests(merged(made)) == digests(examine(n_trials=1))


def test_another_job_goes_on_with_the_work_of_one_that_was_killed(tmp_path: Path, examine: Examine) -> None:
    made = submission(tmp_path, 2, lease_s=2.0, **SLOW)
    made.submit()
    until(lambda: made.queue.state().done)
    process = [int(text.split("process ")[1].split()[0]) for text in _owners(made)]
    os.kill(process[0], signal.SIGKILL)
    made.wait(quiet, 0.1)
    assert max(made.queue.state().leases.values()) == 2
    assert digests(merged(made)) == digests(examine(**SLOW))


def _owners(made: Submission) -> list[str]:
    state = made.queue.state()
    files = [made.folder / "queue" / f"{c:05d}.{n:04d}" for c, n in state.leases.items() if c not in state.done]
    return [text for text in (file.read_text() for file in files) if text]


def test_a_job_that_is_told_of_its_end_gives_its_parcel_back_and_runs_again(tmp_path: Path, examine: Examine) -> None:
    made = submission(tmp_path, 1, lease_s=600.0, **SLOW)
    made.submit()
    until(lambda: made.queue.state().done and _owners(made))
    process = int(_owners(made)[0].split("process ")[1].split()[0])
    os.kill(process, signal.SIGUSR1)
    made.wait(quiet, 0.1)  # would not end within 600 s had the lease not been given back
    assert "this job is preempted" in "".join(log.read_text() for log in (made.folder / "logs").glob("*.err"))
    assert 2 in made.queue.state().leases.values()
    assert digests(merged(made)) == digests(examine(**SLOW))


def test_work_that_is_stopped_keeps_finished_trials(tmp_path: Path, examine: Examine) -> None:
    keys = {**SLOW, "n_trials": 40}
    made = submission(tmp_path, 1, lease_s=600.0, **keys)
    work = Work(made, "a")
    work.start()
    until(lambda: list(made.folder.glob("parcels/*/*/trials/*")))
    work.stop()
    assert made.queue.held() == 0
    assert list(made.folder.glob("parcels/*/*/trials/*"))
    with pytest.raises(RunError, match=r"parcels are not finished: the jobs have ended.*go on: proctor submit --fin"):
        made.wait(quiet)
    Work(made, "b").run()
    assert digests(merged(made)) == digests(examine(**keys))


def test_what_a_job_left_that_died_before_its_plan_was_written_is_begun_anew(tmp_path: Path) -> None:
    made = submission(tmp_path, 1)
    (made.parcel_folder(1) / "20260101-000000_x" / "trials").mkdir(parents=True)
    Work(made, "a").run()
    assert len(made.queue.state().done) == made.count


def test_why_a_parcel_failed_is_said(tmp_path: Path) -> None:
    made = submission(tmp_path, 1)
    (made.folder / "config.json").write_text((made.folder / "config.json").read_text().replace("Linear", "Nothing"))
    Work(made, "a").run()
    with pytest.raises(RunError, match="Nothing"):
        made.wait(quiet)


def test_a_second_submission_into_the_same_folder_is_refused(tmp_path: Path) -> None:
    made = submission(tmp_path)
    with pytest.raises(InputError, match=f"{made.folder} already holds a submission; finish it .*--finish.*--name"):
        submission(tmp_path)


def test_bad_input_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="--jobs 0: expected at least 1"):
        submission(tmp_path, 0)
    with pytest.raises(InputError, match="--lease 0: expected more than 0"):
        submission(tmp_path, lease_s=0)
    with pytest.raises(InputError, match="is no folder of a submission"):
        Submission.open(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"no sbatch on the PATH.*--local"):
        Settings("slurm").check()
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(
        InputError, match=r'proctor submit needs the package "submitit".*pip install "proctor\[slurm\]"'
    ):
        Settings("slurm").check()
    assert not (tmp_path / "submitted").exists()
