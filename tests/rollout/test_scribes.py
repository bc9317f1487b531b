"""Records of trials on a device that other processes make: the same bytes, each trial once, whatever becomes of those
processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from device_trials import W, agent, contents, toys, ways

from proctor import Run
from proctor.errors import RunError
from proctor.interpreters import command
from proctor.rollout.worker import HERE
from proctor_host.cfg import WorkerCfg
from proctor_host.channel import Closed
from proctor_host.scribes import Lane, Scribe

pytest.importorskip("torch")

N = 40
DEADLY = Path(__file__).parents[1] / "support" / "deadly_metric.py"


@pytest.fixture
def made() -> Iterator[list[int]]:
    """How many trials each parcel had that a scribe has answered."""
    answered: list[int] = []
    record = Lane.record

    def noted(lane: Lane, cuts: Any, tasks: Any) -> Any:
        found = record(lane, cuts, tasks)
        answered.append(len(cuts))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lane, "record", noted)
        yield answered


def children() -> list[str]:
    found = subprocess.run(["ps", "-o", "args=", "--ppid", str(os.getpid())], capture_output=True, text=True)
    return [line for line in found.stdout.splitlines() if "proctor_host.scribe" in line]


@pytest.mark.parametrize("options", [{}, {"keys": True, "wait_steps": 2}], ids=str)
@pytest.mark.parametrize("level", ["series", "summary"])
def test_scribes_write_what_threads_write(
    examine: Callable[..., Run], made: list[int], options: dict[str, Any], level: str
) -> None:
    keys = {
        "tasks": [toys(**options)],
        "num_parallel": W,
        "n_trials": N,
        "record": {"level": level, "observations": True},
    }
    expected = examine(agents=[agent(), agent("Drawing")], workers={"kind": "inline", "records": 0}, **keys)
    assert not made
    found = examine(agents=[agent(), agent("Drawing")], workers={"kind": "inline", "records": 2}, **keys)
    assert contents(found) == contents(expected)
    assert {result.trial: result.metrics for result in found.results()} == {
        result.trial: result.metrics for result in expected.results()
    }
    assert ways(found) == {"slope": ["device"], "drawing": ["device"]}
    assert sum(made) == 2 * N
    assert not children()


def test_in_worker_processes_too(examine: Callable[..., Run]) -> None:
    keys = {"agents": [agent()], "tasks": [toys()], "num_parallel": W, "n_trials": N}
    expected = examine(workers={"kind": "inline", "records": 0}, **keys)
    found = examine(workers={"kind": "process", "count": 1, "records": 2}, **keys)
    assert contents(found) == contents(expected)
    assert ways(found) == {"slope": ["device"]}


def test_one_that_dies_is_replaced(examine: Callable[..., Run], made: list[int], tmp_path: Path) -> None:
    once = tmp_path / "died"
    os.environ["DEADLY_METRIC"] = str(once)
    try:
        scoring = {"mode": "success", "metrics": [f"{DEADLY}:Deadly"]}
        keys = {"agents": [agent()], "tasks": [toys()], "num_parallel": W, "n_trials": N, "scoring": scoring}
        found = examine(workers={"kind": "inline", "records": 1}, **keys)
    finally:
        del os.environ["DEADLY_METRIC"]
    assert once.exists()
    assert sum(made) == N
    assert sorted(result.trial.index for result in found.results()) == list(range(N))
    assert not children()


def test_records_that_kill_every_scribe_end_the_run_and_say_so(examine: Callable[..., Run], tmp_path: Path) -> None:
    os.environ["DEADLY_METRIC"] = "always"
    try:
        scoring = {"mode": "success", "metrics": [f"{DEADLY}:Deadly"]}
        keys = {"agents": [agent()], "tasks": [toys()], "num_parallel": W, "n_trials": N, "scoring": scoring}
        with pytest.raises(RunError, match="cannot be written: the process that measured them was killed by signal 9"):
            examine(workers={"kind": "inline", "records": 1}, **keys)
    finally:
        del os.environ["DEADLY_METRIC"]
    assert not children()


def test_where_none_comes_threads_write(
    examine: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("proctor.rollout.worker.command", lambda code: [sys.executable, "-c", "raise SystemExit(3)"])
    found = examine(
        agents=[agent()], tasks=[toys()], num_parallel=W, n_trials=N, workers={"kind": "inline", "records": 2}
    )
    assert len(list(found.results())) == N
    assert "a process for records does not start" in capfd.readouterr().err


def test_what_cannot_be_sent_ends_the_run_and_says_so(
    examine: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise MemoryError("no room for it")

    monkeypatch.setattr(Lane, "record", broken)
    keys = {"agents": [agent()], "tasks": [toys()], "num_parallel": W, "n_trials": N}
    with pytest.raises(RunError, match=r"could not be told of them \(MemoryError: no room for it\)"):
        examine(workers={"kind": "inline", "records": 1}, **keys)
    assert not children()


def test_one_that_cannot_read_what_it_is_sent_ends_instead_of_keeping_others_waiting() -> None:
    scribe = Scribe(
        command("from proctor_host.scribe import main; main()"), {"cfg": WorkerCfg(None, {}).plain(), "extras": HERE}
    )
    with pytest.raises(Closed):
        scribe.lanes[1].record([("no cut",)], {})  # type: ignore[list-item]
    assert scribe.end() == "ended with exit code 1"
    scribe.close()


def test_options_that_cannot_be_sent_keep_nobody_from_recording(
    examine: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def plain(_: WorkerCfg) -> Any:
        raise TypeError("cannot pickle a lock")

    monkeypatch.setattr(WorkerCfg, "plain", plain)
    keys = {"agents": [agent()], "tasks": [toys()], "num_parallel": W, "n_trials": N}
    found = examine(workers={"kind": "inline", "records": 1}, **keys)
    assert len(list(found.results())) == N
    assert "made on threads: cannot pickle a lock" in capfd.readouterr().err


def test_one_goes_when_whoever_has_started_it_is_gone(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "from proctor_host.scribes import Scribe\n"
        "from proctor_host.cfg import WorkerCfg\n"
        "from proctor.rollout.worker import HERE\n"
        "from proctor.interpreters import command\n"
        "line = command('from proctor_host.scribe import main; main()')\n"
        "scribe = Scribe(line, {'cfg': WorkerCfg(None, {}).plain(), 'extras': HERE})\n"
        "print(scribe._process.pid, flush=True)\n"
        "os._exit(0)\n"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    pid, until = int(printed), time.monotonic() + 30
    while _lives(pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _lives(pid)


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
