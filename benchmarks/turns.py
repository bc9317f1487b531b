"""Commands that take turns.

The speed of a shared machine changes from second to second, by more than what is to be measured. So commands that work
on and on are started together, and only one of them may run at a time, with all its processes, for a fraction of a
second; the others are stopped meanwhile. Each counts what it does in files under a folder that the environment names.
Where others work on the machine, too, what a step costs in processor time says more than what the clock says: who waits
for a core pays nothing. Needs Linux.
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
from typing import NamedTuple, TypeVar

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


class Turn(NamedTuple):
    """What a command counted, and what it took: by the clock, and of the processors for all its processes."""

    counted: int
    seconds: float
    processor_s: float


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

    def processor_s(self) -> float:
        """The processor time of all its processes so far."""
        return sum(map(_processor_s, _family(self._process.pid)))

    def turn(self) -> Turn:
        """Let it run for a while."""
        before, spent, began = self.count(), self.processor_s(), time.perf_counter()
        self.signal(signal.SIGCONT)
        time.sleep(TURN_S)
        self.signal(signal.SIGSTOP)
        seconds = time.perf_counter() - began
        return Turn(self.count() - before, seconds, self.processor_s() - spent)

    def end(self) -> int:
        """Its exit code."""
        if self._process.poll() is None:
            self.signal(signal.SIGKILL)
        return self._process.wait()


def rates(commands: Mapping[Name, Sequence[str]], turns: int) -> dict[Name, np.ndarray]:
    """What each command counts per second, `turns` times; every turn of one beside a turn of each other."""
    return {name: by_clock(found) for name, found in taken(commands, turns).items()}


def by_clock(turns: Sequence[Turn]) -> np.ndarray:
    """What was counted per second, in each turn."""
    return np.array([turn.counted / turn.seconds for turn in turns])


def by_processor(ours: Sequence[Turn], theirs: Sequence[Turn]) -> tuple[np.ndarray, np.ndarray]:
    """What each side counted per second of processor time. It is known to a hundredth of a second, so that single turns
    say little: this leaves out a pair of turns at a time, and gives what these have moved (the jackknife)."""
    found = []
    for turns in (ours, theirs):
        count, spent = (
            np.array(values, float) for values in zip(*[(t.counted, t.processor_s) for t in turns], strict=True)
        )
        whole, others = count.sum() / spent.sum(), (count.sum() - count) / (spent.sum() - spent)
        found.append(len(turns) * whole - (len(turns) - 1) * others)
    return found[0], found[1]


def taken(commands: Mapping[Name, Sequence[str]], turns: int) -> dict[Name, list[Turn]]:
    """So many turns of each command."""
    with _started(commands) as runners:
        _warm_up(list(runners.values()))
        found: dict[Name, list[Turn]] = {name: [] for name in runners}
        order = list(runners)
        for _ in range(turns):
            for name in order:
                found[name].append(runners[name].turn())
            order.reverse()
    return found


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


def _processor_s(pid: int) -> float:
    """What a process has used, with children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _family(pid: int) -> list[int]:
    """A process and all that come from it."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += _family(int(child))
    return found
