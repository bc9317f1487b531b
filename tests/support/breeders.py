"""Environments and policies that start processes, print, fork or die. Workers import this file by its path."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from proctor import Batch, Policy

SIMULATORS = {
    "plain": "echo $$ > {file}; exec sleep 600",
    "stubborn": "trap '' TERM; echo $$ > {file}; exec sleep 600",
    "left": "(echo $$ > {file}.parent; sh -c 'echo $$ > {file}; exec sleep 600') & exit",
    "group": "echo $$ > {file}; exec sleep 600",
    "session": "echo $$ > {file}; exec sleep 600",
    "daemon": "setsid sh -c 'echo $$ > {file}; exec sleep 600' & exit",
}
"""What a simulator may be: in its parent's process group, deaf to SIGTERM, left by its parent, in a group or a session
of its own, both. Each writes its process id to a file."""


def start_simulators(folder: Path) -> None:
    """Start one of each kind that has not been started, and wait until they run."""
    for kind, script in SIMULATORS.items():
        file = folder / kind
        if not file.exists():
            subprocess.Popen(
                ["sh", "-c", script.format(file=file)],
                process_group=0 if kind == "group" else None,
                start_new_session=kind == "session",
            )
    while not all((folder / kind).exists() and (folder / kind).read_text() for kind in SIMULATORS):
        time.sleep(0.01)


class Breeder(gymnasium.Env[Any, Any]):
    """Five steps of noise; does `what` at each `when` (made, reset, step or close)."""

    def __init__(self, what: str = "", when: str = "", folder: str = ""):
        self.observation_space = Box(-np.inf, np.inf, (6,), np.float32)
        self.action_space = Box(-1.0, 1.0, (2,), np.float32)
        self.what, self.when, self.folder = what, when, Path(folder)
        self._now("made")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.left = 5
        self._now("reset")
        return self.np_random.normal(size=6).astype(np.float32), {}

    def step(self, action: Any) -> Any:
        self.left -= 1
        self._now("step")
        x = self.np_random.normal(size=6).astype(np.float32)
        return x, float(x[0]), self.left == 0, False, {"success": bool(x[0] > 0)}

    def close(self) -> None:
        self._now("close")

    def _now(self, when: str) -> None:
        if when == self.when:
            getattr(self, self.what)()

    def simulate(self) -> None:
        start_simulators(self.folder)

    def simulate_and_die(self) -> None:
        start_simulators(self.folder)
        if self._times() == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def simulate_and_hang(self) -> None:
        start_simulators(self.folder)
        if self._times() == 0:
            time.sleep(600)

    def die_twice(self) -> None:
        if self._times() < 2:
            os.kill(os.getpid(), signal.SIGKILL)

    def die(self) -> None:
        print("the simulator has no licence", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

    def hang(self) -> None:
        time.sleep(600)

    def chatter(self) -> None:
        os.write(1, b"begins\n" + b"x" * 4_000_000 + b"\nends\n")

    def fork(self) -> None:
        os.fork()

    def fork_and_raise(self) -> None:
        if os.fork() == 0:
            raise RuntimeError("the copy is broken")

    def fork_and_stay(self) -> None:
        if self._times() == 0 and os.fork() == 0:
            (self.folder / "copy").write_text(str(os.getpid()))
            time.sleep(600)

    def _times(self) -> int:
        """How often this has been called before, in any process."""
        with (self.folder / "times").open("a+") as file:
            file.seek(0)
            times = len(file.read())
            file.write("x")
        return times


class Forking(Policy):
    """Forks in the act of each trial's third step, and both come back."""

    def reset(self, trials: Any) -> Any:
        return np.zeros(len(trials), np.int64)

    def act(self, batch: Batch) -> Any:
        from proctor import Actions

        age = batch.state + 1
        if (age == 3).any():
            os.fork()
        return Actions(np.zeros((len(batch), 2), np.float32), age)


gymnasium.register("Breeder-v0", Breeder)
