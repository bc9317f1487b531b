"""Trials with a metric that takes long are recorded beside the steps of others: the same files, and nobody waits."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examining import by_key, digests, examination, odd, timeless

from proctor import Run, RunError, config_from_dict
from proctor.rollout.progress import CancelToken
from proctor.runs.resume import resume
from proctor.runs.session import Hooks
from proctor.runs.start import start
from proctor_host import beside as beside_module
from proctor_host.beside import MOST, Beside, cores

Examine = Callable[..., Run]

OWN = '''
import os, time
from pathlib import Path
import gymnasium, numpy as np
from gymnasium.spaces import Box
from proctor import Metric

STEPS, FIRST = Path(__file__).with_name("steps"), Path(__file__).with_name("first")

class Counted(gymnasium.Env):
    """A seeded walk that counts the steps of all worlds in a file; of neighbouring seeds no two take as many. With
    `patient`, what takes longer than the shortest does not go on before a trial is being measured."""
    def __init__(self, patient=False):
        self.patient = patient
    observation_space, action_space = Box(-np.inf, np.inf, (3,), np.float32), Box(-1.0, 1.0, (1,), np.float32)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.age, self.most, self.x = 0, 6 + 7 * (seed % 5), self.np_random.normal(size=3)
        return self.x.astype(np.float32), {}
    def step(self, action):
        until = time.monotonic() + 60
        while self.patient and self.age == 8 and not FIRST.exists() and time.monotonic() < until:
            time.sleep(0.002)
        with STEPS.open("ab") as file:
            file.write(b".")
        self.age += 1
        self.x = self.x + self.np_random.normal(size=3)
        return self.x.astype(np.float32), float(self.x[0]), self.age >= self.most, False, {}

gymnasium.register("NAME-v0", Counted)

class Low(Metric):
    """The smallest reward."""
    name, unit, direction, needs = "low", "1", "up", ("rewards",)
    def __call__(self, episode):
        return float(episode.arrays["rewards"].min())

class SlowLow(Low):
    beside = True

class Meanwhile(Low):
    """For the first trial, the steps that were made while this was computed."""
    beside = True
    def __call__(self, episode):
        before, until = STEPS.stat().st_size, time.monotonic() + 60
        try:
            os.close(os.open(FIRST, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return 0.0
        while STEPS.stat().st_size < before + 3 and time.monotonic() < until:
            time.sleep(0.002)
        return float(STEPS.stat().st_size - before)

class Broken(Low):
    beside = True
    def __call__(self, episode):
        raise KeyError("nothing")
'''


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.py"
    path.write_text(OWN.replace("NAME", named(tmp_path)))
    (tmp_path / "steps").touch()
    return path


def named(folder: Path) -> str:
    """The environment's name, another one for each copy of the file."""
    return f"Counted_{folder.name}"


def keys(own: Path, metric: str, **more: Any) -> dict[str, Any]:
    kwargs = {"patient": metric == "Meanwhile"}
    task = {"suite": "gymnasium", "name": "walk", "options": {"id": f"{own}:{named(own.parent)}-v0", "kwargs": kwargs}}
    scoring = {"mode": "success", "metrics": [f"{own}:{metric}"]}
    return {"agents": [odd("Steady")], "tasks": [task], "scoring": scoring, "n_trials": 6, "num_parallel": 3, **more}


@pytest.mark.parametrize("workers", ["inline", {"kind": "process", "count": 2}])
def test_where_a_trial_is_recorded_changes_nothing(own: Path, examine: Examine, workers: Any) -> None:
    here, beside = examine(**keys(own, "Low")), examine(**keys(own, "SlowLow", workers=workers))
    assert digests(here) == digests(beside)
    assert timeless(here) == timeless(beside)
    assert {key: result.metrics for key, result in by_key(here).items()} == {
        key: result.metrics for key, result in by_key(beside).items()
    }
    files = [sorted(p.read_bytes() for p in (run.path / "trials").iterdir()) for run in (here, beside)]
    assert files[0] == files[1]


@pytest.mark.parametrize("workers", ["inline", {"kind": "process", "count": 1}])
def test_others_are_stepped_while_a_trial_is_recorded(own: Path, examine: Examine, workers: Any) -> None:
    run = examine(**keys(own, "Meanwhile", workers=workers))
    lows = sorted(result.metrics["low"] or 0.0 for result in run.results())
    assert lows[:5] == [0.0] * 5
    assert lows[5] >= 3


@pytest.mark.parametrize("workers", ["inline", {"kind": "process", "count": 1}])
def test_a_metric_that_fails_beside_ends_the_run_with_its_name(own: Path, examine: Examine, workers: Any) -> None:
    with pytest.raises(RunError, match=r"trial steady/walk/000\d cannot be written: the metric \"low\" failed on"):
        examine(**keys(own, "Broken", workers=workers))


@pytest.mark.parametrize("workers", ["inline", {"kind": "process", "count": 2}])
def test_a_run_that_is_stopped_keeps_what_has_ended_and_goes_on(
    own: Path, tmp_path: Path, examine: Examine, workers: Any
) -> None:
    token = CancelToken()

    def stop(progress: Any) -> None:
        if progress.done:
            token.cancel()

    cfg = config_from_dict(examination(tmp_path, **keys(own, "SlowLow", workers=workers, n_trials=40)))
    stopped = start(cfg, Hooks(stop, cancel=token))
    assert resume(stopped.run.path).complete
    whole = examine(**keys(own, "Low", n_trials=40))
    assert digests(stopped.run) == digests(whole)
    assert timeless(stopped.run) == timeless(whole)


# The pool -------------------------------------------------------------------------------------------------------------


def test_what_is_put_is_reported_once() -> None:
    beside: Beside[int] = Beside()
    for number in range(20):
        beside.put(lambda number=number: [number * number])
    found: list[int] = []
    while beside.outstanding:
        beside.wait(1.0)
        found += beside.reports()
    assert sorted(found) == [n * n for n in range(20)]
    assert beside.close() == []


def test_closing_finishes_everything() -> None:
    beside, gate = Beside[str](), threading.Event()
    beside.put(lambda: [str(gate.wait(60))])
    beside.put(lambda: ["second"])
    beside.wait(0.001)
    assert beside.outstanding == 2
    gate.set()
    assert sorted(beside.close()) == ["True", "second"]
    assert beside.outstanding == 0
    beside.put(lambda: ["again"])
    assert beside.close() == ["again"]


def test_who_hands_over_too_much_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside_module, "MOST_BYTES", 100)
    beside, gate, order = Beside[int](), threading.Event(), []
    beside.put(lambda: order.append("first") or [int(gate.wait(60))], 500)

    def more() -> None:
        beside.put(lambda: [2], 60)
        order.append("second")

    thread = threading.Thread(target=more)
    thread.start()
    thread.join(0.05)
    assert thread.is_alive(), "there is no room beside the first"
    order.append("opened")
    gate.set()
    thread.join(60)
    assert order == ["first", "opened", "second"]
    beside.put(lambda: [3], 40)
    assert sorted(beside.close()) == [1, 2, 3]


def test_waiting_for_nothing_returns() -> None:
    beside: Beside[int] = Beside()
    beside.wait(3600.0)
    assert beside.reports() == []
    assert not beside.landed
    assert cores() >= 1


def test_nothing_is_reported_before_it_is_done() -> None:
    beside, begun, gate = Beside[int](), threading.Event(), threading.Event()

    def slow() -> list[int]:
        begun.set()
        gate.wait(60)
        return [1]

    beside.put(slow)
    begun.wait(60)
    assert (beside.landed, beside.reports(), beside.outstanding) == (False, [], 1)
    gate.set()
    assert beside.close() == [1]


def test_whoever_waits_is_woken_once_for_each() -> None:
    beside: Beside[int] = Beside()
    for number in range(2 * MOST):
        beside.put(lambda number=number: [number])
    poll, found = select.poll(), list[int]()
    poll.register(beside.fd, select.POLLIN)
    while beside.outstanding:
        assert poll.poll(60_000)
        found += beside.reports()
    assert sorted(found) == list(range(2 * MOST))
    assert not poll.poll(0), "what has been reported wakes nobody"
    beside.close()


def test_files_are_lent_while_they_are_needed() -> None:
    beside = Beside[int]()
    assert beside.fd == -1
    beside.put(lambda: [1])
    assert beside.fd >= 0
    beside.close()
    assert beside.fd == -1
