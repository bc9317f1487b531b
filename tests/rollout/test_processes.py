"""Processes come and go: what a worker has started goes with it, and one that is lost while it starts is replaced."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from crossing import EVERY
from examining import digests, examination, policy
from processes import alive, keepers, wait_for, workers

from proctor import Run, RunError, config_from_dict
from proctor.interpreters import command
from proctor.registry import import_object
from proctor.rollout.backends import channel, process
from proctor.rollout.progress import CancelToken, Progress
from proctor.runs.check import check
from proctor.runs.session import Hooks
from proctor.runs.start import start
from proctor_host.output import HALF

BREEDERS = Path(__file__).parents[1] / "support" / "breeders.py"
KINDS = tuple(import_object(f"{BREEDERS}:SIMULATORS"))


def breeder(what: str, when: str, folder: Path) -> dict[str, Any]:
    kwargs = {"what": what, "when": when, "folder": str(folder)}
    return {"suite": "gymnasium", "name": "breeder", "options": {"id": f"{BREEDERS}:Breeder-v0", "kwargs": kwargs}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where environments leave notes."""
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


def simulators(folder: Path) -> dict[str, int]:
    return {kind: int((folder / kind).read_text()) for kind in KINDS}


# What a worker has started ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["simulate", "simulate_and_die", "simulate_and_hang"])
def test_simulators_end_with_their_worker(examine: Callable[..., Run], folder: Path, what: str) -> None:
    """When the run is over, when the worker dies and when it hangs; whatever groups and sessions they went to."""
    run = examine(tasks=[breeder(what, "step", folder)], workers=1, num_parallel=1, n_trials=2, limits={"step_s": 5})
    assert all(result.outcome.scored for result in run.results())
    assert [kind for kind, pid in simulators(folder).items() if alive(pid)] == []


@pytest.fixture
def hanging(tmp_path: Path, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run whose worker has started simulators and hangs."""
    config = tmp_path / "exam.yml"
    tasks = [breeder("simulate_and_hang", "step", folder)]
    config.write_text(yaml.safe_dump(examination(tmp_path, tasks=tasks, workers=1, num_parallel=1, n_trials=1)))
    run = subprocess.Popen([sys.executable, "-m", "proctor", "run", str(config), "--quiet"])
    wait_for(lambda: (folder / "times").exists())
    yield run
    run.kill()
    run.wait()
    for pid in simulators(folder).values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("victims", [lambda engine: [engine], workers, keepers], ids=["engine", "worker", "keeper"])
def test_simulators_end_when_somebody_is_killed(
    hanging: subprocess.Popen[bytes], folder: Path, victims: Callable[[int], list[int]]
) -> None:
    left = [*workers(hanging.pid), *keepers(hanging.pid), *simulators(folder).values()]
    os.kill(victims(hanging.pid)[0], signal.SIGKILL)
    wait_for(lambda: not any(map(alive, left)))


def test_a_keeper_ends_as_its_worker_does(examine: Callable[..., Run], folder: Path) -> None:
    run = examine(tasks=[breeder("die_twice", "step", folder)], workers=1, num_parallel=1, n_trials=1)
    assert next(run.results()).attempts == 3
    assert "a worker process died of SIGKILL" in (run.path / "run.log").read_text()


# Closing ------------------------------------------------------------------------------------------------------------


def test_a_worker_that_is_still_starting_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "command", lambda *_: command("import time; time.sleep(600)"))
    monkeypatch.setattr(channel, "CLOSE_SECONDS", 600.0)
    monkeypatch.setattr(channel, "HEAR_SECONDS", 600.0)
    assert _cancelled(tmp_path, breeder("", "", tmp_path))


def test_a_worker_that_does_not_come_back_from_a_call_is_not_waited_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "CLOSE_SECONDS", 600.0)
    monkeypatch.setattr(channel, "HEAR_SECONDS", 0.1)
    assert _cancelled(tmp_path, breeder("hang", "made", tmp_path), after_s=1.0)


def _cancelled(tmp_path: Path, task: dict[str, Any], after_s: float = 0.0) -> bool:
    """Cancel a run while it makes environments."""
    cancel = CancelToken()

    def stop(progress: Progress) -> None:
        if progress.phase == "making environments" and progress.seconds >= after_s:
            cancel.cancel()

    cfg = config_from_dict(examination(tmp_path, tasks=[task], workers=2, num_parallel=2))
    return start(cfg, Hooks(stop, cancel)).cancelled


# Starting -----------------------------------------------------------------------------------------------------------


def test_a_worker_that_dies_while_it_makes_an_environment_is_replaced(
    examine: Callable[..., Run], folder: Path
) -> None:
    run = examine(tasks=[breeder("die_twice", "made", folder)], workers=2, num_parallel=2)
    assert all(result.outcome.scored for result in run.results())
    assert [result.attempts for result in run.results()] == [1] * 5, "no trial had begun"


def test_a_worker_that_dies_while_it_starts_is_replaced(
    examine: Callable[..., Run], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = digests(examine(tasks=[breeder("", "", folder)]))
    started = []

    def unlucky(code: str, *arguments: str) -> list[str]:
        started.append(1)
        return command("sys.exit(7)" if len(started) in (1, 3, 4) else code, *arguments)

    monkeypatch.setattr(process, "command", unlucky)
    run = examine(tasks=[breeder("", "", folder)], workers=2, num_parallel=4)
    assert digests(run) == undisturbed
    assert len(started) == 5
    assert "a worker process ended with exit code 7" in (run.path / "run.log").read_text()


def test_an_environment_that_always_kills_its_worker_stops_the_run_with_what_it_said(
    tmp_path: Path, folder: Path
) -> None:
    cfg = config_from_dict(examination(tmp_path, tasks=[breeder("die", "made", folder)], workers=1))
    with pytest.raises(RunError) as stopped:
        start(cfg)
    assert str(stopped.value) == (
        'the environment of task "breeder" cannot be made: a worker process died of SIGKILL (3 times)\n'
        "The last lines of workers.log:\n" + "\n".join(["  the simulator has no licence"] * 3)
    )
    (run,) = [path for path in tmp_path.iterdir() if path != folder]
    assert (run / "workers.log").read_text() == "the simulator has no licence\n" * 3, "the folder is kept"


def test_check_names_an_environment_that_kills_its_worker(tmp_path: Path, folder: Path) -> None:
    found = check(config_from_dict(examination(tmp_path, tasks=[breeder("die", "made", folder)], workers=1)))
    assert found.problems[0] == ('the environment of task "breeder" cannot be made: a worker process died of SIGKILL')
    assert found.problems[-1] == "  the simulator has no licence"


def test_workers_that_never_start_stop_the_run_with_what_they_said(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "command", lambda *_: command("sys.exit('no memory left')"))
    with pytest.raises(RunError) as stopped:
        start(config_from_dict(examination(tmp_path, tasks=[breeder("", "", folder)], workers=1)))
    assert str(stopped.value).startswith(
        "worker processes keep dying before they finish a trial (a worker process ended with exit code 1, 5 times); "
    )
    assert str(stopped.value).endswith("The last lines of workers.log:\n" + "\n".join(["  no memory left"] * 5))
    assert len(list(tmp_path.glob("*/workers.log"))) == 1


def test_a_worker_that_cannot_be_started_at_all_stops_the_run(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "command", lambda *_: ["/nowhere/python"])
    with pytest.raises(RunError, match=r"a worker process cannot be started: .*No such file"):
        start(config_from_dict(examination(tmp_path, tasks=[breeder("", "", folder)], workers=2)))


# Forks --------------------------------------------------------------------------------------------------------------


def run_apart(folder: Path, **keys: Any) -> Run:
    """Run an examination in a process of its own: a copy that does not end would be a copy of these tests."""
    config, out = folder / "exam.yml", folder / "out"
    config.write_text(yaml.safe_dump(examination(out, **keys)))
    done = subprocess.run([sys.executable, "-m", "proctor", "run", str(config), "--quiet"], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    (run,) = out.iterdir()
    return Run.open(run)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """Of an environment that starts nobody."""
    folder = tmp_path_factory.mktemp("undisturbed")
    return digests(start(config_from_dict(examination(folder, tasks=[breeder("", "", folder)]))).run)


@pytest.mark.parametrize(
    ("when", "what", "workers"),
    [
        ("made", "fork", 1),
        ("reset", "fork", "inline"),
        ("step", "fork", "inline"),
        ("step", "fork", 1),
        ("step", "fork_and_raise", 1),
        ("close", "fork", "inline"),
        *([("made", "fork", "inline"), ("reset", "fork", 1), ("step", "fork_and_raise", "inline")] if EVERY else []),
        *([("close", "fork", 1)] if EVERY else []),
    ],
)
def test_the_copy_that_comes_back_from_an_environment_ends(
    undisturbed: dict[str, str | None], folder: Path, when: str, what: str, workers: Any
) -> None:
    run = run_apart(folder, tasks=[breeder(what, when, folder)], workers=workers)
    assert digests(run) == undisturbed
    assert [result.attempts for result in run.results()] == [1] * 5


@pytest.mark.parametrize(("workers", "placement"), [("inline", "engine"), (1, "engine"), (1, "worker")])
def test_the_copy_that_comes_back_from_a_policy_ends(folder: Path, workers: Any, placement: str) -> None:
    agents = [{**policy("Forking", placement=placement), "policy": f"{BREEDERS}:Forking"}]
    run = run_apart(folder, agents=agents, tasks=[breeder("", "", folder)], workers=workers)
    assert [result.steps_total for result in run.results()] == [5] * 5


def test_the_copy_that_stays_in_an_environment_is_ended_with_the_run(examine: Callable[..., Run], folder: Path) -> None:
    run = examine(tasks=[breeder("fork_and_stay", "step", folder)], workers=1)
    assert all(result.outcome.scored for result in run.results())
    assert not alive(int((folder / "copy").read_text()))


# What workers print -------------------------------------------------------------------------------------------------


def test_an_environment_that_never_stops_printing_fills_no_disk(examine: Callable[..., Run], folder: Path) -> None:
    run = examine(tasks=[breeder("chatter", "step", folder)], workers=1, num_parallel=1, n_trials=3)
    log = (run.path / "workers.log").read_bytes()
    assert log.startswith(b"begins\nxxx")
    assert log.endswith(b"xxx\nends\n")
    left_out = re.search(rb"\n\[(\d+) bytes that this worker printed are left out here\]\n", log)
    assert left_out is not None
    assert len(log) - len(left_out[0]) == 2 * HALF
    assert int(left_out[1]) + 2 * HALF == 15 * (4_000_000 + len(b"begins\n\nends\n"))
