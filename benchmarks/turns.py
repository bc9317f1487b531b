"""Commands that take turns.

The speed of a shared machine changes from second to second, by more than what is to be measured. So commands that work
on and on are started together, and only one of them may run at a time, with all its processes, for a fraction of a
second; the others are stopped meanwhile. Each counts what it does in files under a folder that the environment names.
Needs Linux.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np

from benchmarks.sides import ROOT, environment

VARIABLE = "PROCTOR_BENCHMARK_COUNTS"
TURN_S = 0.4
WARM = 3_000
"""What a command must have counted before it is measured: by then everything is loaded, compiled and full."""
PATIENCE_S = 120.0
Name = TypeVar("Name", str, Path)


class Counter:
    """What this process has done; kept where nobody asks, too."""

    def __init__(self) -> None:
        folder = os.environ.get(VARIABLE)
        where = Path(folder) / str(os.getpid()) if folder else None
        self._cell = np.memmap(where, np.int64, "w+", shape=(1,)) if where else np.zeros(1, np.int64)

    def add(self, count: int) -> None:
        self._cell[0] += count


class Runner:
    """A command that has been started. It counts in `folder`."""

    def __init__(self, command: Sequence[str], folder: Path):
        self._folder, self._said = folder, folder.with_suffix(".said")
        with self._said.open("wb") as said:
            variables = environment() | {VARIABLE: str(folder)}
            self._process = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.DEVNULL, stderr=said)

    def count(self) -> int:
        if self._process.poll() is not None:
            raise RuntimeError(f"a command that is measured has ended:\n{self._said.read_text()}")
        files = list(self._folder.iterdir())
        return sum(int(np.fromfile(file, np.int64)[0]) for file in files if file.stat().st_size)

    def signal(self, number: int) -> None:
        """To all its processes."""
        for pid in _family(self._process.pid):
            os.kill(pid, number)

    def turn(self) -> float:
        """Let it run for a while; what it counted per second."""
        before, began = self.count(), time.perf_counter()
        self.signal(signal.SIGCONT)
        time.sleep(TURN_S)
        self.signal(signal.SIGSTOP)
        seconds = time.perf_counter() - began
        return (self.count() - before) / seconds

    def end(self) -> int:
        """Its exit code."""
        if self._process.poll() is None:
            self.signal(signal.SIGKILL)
        return self._process.wait()


def rates(commands: Mapping[Name, Sequence[str]], turns: int) -> dict[Name, np.ndarray]:
    """What each command counts per second, `turns` times; every turn of one beside a turn of each other."""
    with _started(commands) as runners:
        _warm_up(list(runners.values()))
        found: dict[Name, list[float]] = {name: [] for name in runners}
        order = list(runners)
        for _ in range(turns):
            for name in order:
                found[name].append(runners[name].turn())
            order.reverse()
    return {name: np.array(values) for name, values in found.items()}


def ratio(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    """Of the sums, and its standard error by bootstrap over turns."""
    rng = np.random.default_rng(0)
    draws = rng.integers(len(ours), size=(2_000, len(ours)))
    spread = ours[draws].sum(axis=1) / theirs[draws].sum(axis=1)
    return float(ours.sum() / theirs.sum()), float(spread.std())


@contextmanager
def _started(commands: Mapping[Name, Sequence[str]]) -> Iterator[dict[Name, Runner]]:
    runners: dict[Name, Runner] = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name, command in commands.items():
                own = Path(folder) / str(len(runners))
                own.mkdir()
                runners[name] = Runner(command, own)
            yield runners
        finally:
            for runner in runners.values():
                runner.end()


def _warm_up(runners: Sequence[Runner]) -> None:
    """One after the other: alone, each is quickest."""
    for runner in runners:
        late = time.monotonic() + PATIENCE_S
        while runner.count() < WARM:
            if time.monotonic() > late:
                raise RuntimeError(f"a command that is measured counts too slowly: {runner.count()} so far")
            time.sleep(0.1)
        runner.signal(signal.SIGSTOP)


def _family(pid: int) -> list[int]:
    """A process and all that come from it."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += _family(int(child))
    return found
