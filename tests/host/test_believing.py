"""What an engine believes of a worker elsewhere: results of its own trials, in their own files, of the right kinds."""

from __future__ import annotations

import socket
import struct
import threading
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor.errors import RunError
from proctor.rollout.backends import channel
from proctor.rollout.backends.address import AddressWorker, Connection, Place
from proctor.rollout.finishing import finished
from proctor_host import spaces
from proctor_host.cfg import TaskCfg, WorkerCfg
from proctor_host.codec import Codec
from proctor_host.episode import Outcome
from proctor_host.extras import import_object
from proctor_host.frames import frames
from proctor_host.messages import FREED, Asks, Done, Ended, Fault, Know, Left, Start
from proctor_host.npz import pack_npz
from proctor_host.result import TrialResult
from proctor_host.task import Task
from proctor_host.trials import Trial

TASKS = {"t": TaskCfg(name="t", suite="served", options={})}
BOX = spaces.Box(-1.0, 1.0, (2,), np.float32)
START = Start(0, Trial("a", "t", 0, 5), "a__t_0", False)
RECORD = pack_npz(
    {
        "rewards": np.ones(2), "actions": np.zeros((2, 2), np.float32), "success": np.zeros(2, bool),
        "terminals": np.zeros(2, bool), "truncations": np.zeros(2, bool), "action_dt_s": np.array(np.nan),
    }
)  # fmt: skip
RESULT = TrialResult(START.trial, Outcome.FAILURE, False, 2, None, 2.0, 9, npz="trials/a__t_0.npz")
DONE = Done(0, RESULT, left=Left(RECORD, measured=False))


@pytest.fixture
def said(tmp_path: Path) -> Any:
    """What an engine makes of what a host says, that was told of a task and to begin a trial in slot 0."""
    (tmp_path / "trials").mkdir()
    ours, theirs = socket.socketpair()
    place = Place.__new__(Place)
    place.address = "nowhere"
    worker = AddressWorker(WorkerCfg(str(tmp_path), TASKS), 2, place, Connection(ours, 1))
    worker.send(Know((Task(TASKS["t"], BOX, BOX),)))
    worker.send(START)

    def say(message: Any) -> list[Any]:
        data = Codec(False, TASKS).pack([message])
        theirs.sendall(struct.pack("<I", len(data)) + data)
        found = worker.events()
        while worker.finishing:
            assert worker.lost() is None, "what it has finished counts first"
            found += worker.events()
        return found

    say.worker = worker  # type: ignore[attr-defined]
    yield say
    worker.kill()
    theirs.close()


def test_a_result_of_its_trial_is_written_and_measured(said: Any, tmp_path: Path) -> None:
    (done,) = said(DONE)
    assert (done.left, done.result.trial) == (Left(), START.trial)
    assert done.result.metrics
    assert (tmp_path / "trials" / "a__t_0.npz").read_bytes() == RECORD


def test_a_trial_is_done_once(said: Any) -> None:
    assert len(said(DONE)) == 1
    assert said(DONE) == []
    assert said.worker.fileno() is None, "the connection is given up"


def test_a_worker_that_is_gone_has_still_finished_what_it_sent(said: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    monkeypatch.setattr(channel, "finished", lambda done, cfg: (gate.wait(60), finished(done, cfg))[1])
    worker = said.worker
    worker._finishing.put(lambda: [channel._attempt(DONE, worker._cfg)])
    assert worker.events() == []
    assert worker.finishing
    worker.kill()
    gate.set()
    (done,) = worker.events()
    assert done.left == Left()
    assert not worker.finishing


def test_what_cannot_be_finished_is_raised(said: Any) -> None:
    with pytest.raises(RunError, match="what a worker sent of trial a/t/0000 cannot be used: not a whole npz file"):
        said(DONE._replace(left=Left(b"no record", measured=False)))


@pytest.mark.parametrize(
    "done",
    [
        DONE._replace(result=replace(RESULT, trial=Trial("a", "t", 1, 6))),
        DONE._replace(result=replace(RESULT, npz="trials/b__t_0.npz")),
        DONE._replace(result=replace(RESULT, npz="../config.json")),
        DONE._replace(result=replace(RESULT, video="videos/b.mp4")),
        DONE._replace(result=replace(RESULT, steps_total="2")),  # type: ignore[arg-type]
        DONE._replace(result=replace(RESULT, metrics={"success_rate": 1.0})),
        DONE._replace(left=Left()),
        DONE._replace(slot=1),
    ],
    ids=[
        "another trial",
        "a record of another",
        "another file",
        "a film of another",
        "text",
        "metrics",
        "measured",
        "slot",
    ],
)
def test_any_other_result_is_not_believed(said: Any, tmp_path: Path, done: Done) -> None:
    assert said(done) == []
    assert list((tmp_path / "trials").iterdir()) == []


def test_a_slot_may_be_free_before_the_record_is_there(said: Any) -> None:
    assert said(Ended(0)) == [Ended(0)]
    (done,) = said(DONE._replace(slot=FREED))
    assert (done.slot, done.left, done.result.trial) == (FREED, Left(), START.trial)
    assert said(DONE._replace(slot=FREED)) == []
    assert said.worker.fileno() is None, "a trial is done once"


@pytest.mark.parametrize(
    "event",
    [
        DONE._replace(slot=FREED, result=replace(RESULT, trial=Trial("a", "t", 1, 6))),
        DONE._replace(slot=FREED, result=replace(RESULT, trial=["a"])),  # type: ignore[arg-type]
        DONE._replace(slot=FREED, result=replace(RESULT, trial=Trial(["a"], "t", 0, 5))),  # type: ignore[arg-type]
        DONE._replace(slot=FREED, result=replace(RESULT, npz="trials/b__t_0.npz")),
        Fault(FREED, Outcome.ENV_ERROR, "", None),
        Fault(FREED, Outcome.ENV_ERROR, "", {"a": 1}),  # type: ignore[arg-type]
        Fault(FREED, Outcome.ENV_ERROR, "", Trial("a", "t", 1, 6)),
        Ended(-1),
        Ended(1),
    ],
    ids=str,
)
@pytest.mark.parametrize("ended", [False, True], ids=["runs", "ended"])
def test_nothing_else_is_believed_of_trials_without_a_slot(said: Any, tmp_path: Path, event: Any, ended: bool) -> None:
    if ended:
        said(Ended(0))
    assert said(event) == []
    assert said.worker.fileno() is None
    assert list((tmp_path / "trials").iterdir()) == []


@pytest.mark.parametrize(
    "shown",
    [None, [], [[]], [[np.zeros(2)]], [[np.zeros(3, np.float32)]], [[np.zeros(2, np.float32)] * 2], ["text"]],
    ids=str,
)
def test_observations_that_are_not_as_described_are_no_fault_of_a_policy(said: Any, shown: Any) -> None:
    assert said(Asks([0], shown)) == []


def test_observations_as_described_are_shown(said: Any) -> None:
    (asks,) = said(Asks([0], [[np.zeros(2, np.float32)]]))
    assert asks.shown[0][0].tolist() == [0.0, 0.0]


def test_a_space_is_no_larger_than_its_description() -> None:
    plain = {**BOX.plain(), "shape": (1 << 40,), "low": np.array(0.0), "high": np.array(1.0)}
    for one in (plain, {"kind": "MultiBinary", "n": (1 << 40,), "dtype": "|i1"}):
        with pytest.raises(ValueError, match="larger than its description"):
            spaces.from_plain(one)


def test_a_frame_is_no_larger_than_a_film_s() -> None:
    with pytest.raises(ValueError, match="larger than any that is filmed"):
        list(frames(BytesIO(struct.pack("<IIQ", 1 << 31, 1 << 31, 4) + b"abcd")))


def test_a_file_that_breaks_is_not_found_half_made_the_next_time(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("make = 1\nraise ZeroDivisionError")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            import_object(f"{file}:make")
