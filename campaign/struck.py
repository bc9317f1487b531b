"""Many runs under drawn schedules, several at a time."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import count
from pathlib import Path

from campaign.disturbed import Disturbed
from campaign.examination import UNDISTURBED, Examination
from campaign.faults import Schedule, draw
from campaign.places import environment
from campaign.server import Server
from campaign.tally import Tally


class References:
    """Undisturbed runs, one by one in this process's own time, made when they are first needed."""

    def __init__(self, folder: Path):
        self.folder, self._lock = folder, threading.Lock()

    def run(self, served: bool, n_trials: int) -> Path:
        folder = self.folder / f"{'served' if served else 'local'}-{n_trials}"
        with self._lock:
            if not folder.exists():
                self._make(folder, served, n_trials)
        return next((folder / "runs").iterdir())

    def _make(self, folder: Path, served: bool, n_trials: int) -> None:
        folder.mkdir(parents=True)
        server = Server(folder) if served else None
        try:
            if server is not None:
                server.start()
            config = Examination(server.url if server else None).write(UNDISTURBED, folder)
            command = [sys.executable, "-P", "-m", "campaign.inside", "{}", "run", str(config)]
            done = subprocess.run(
                [*command, "--set", f"n_trials={n_trials}"], capture_output=True, text=True, cwd=folder,
                env=environment(),
            )  # fmt: skip
        finally:
            if server is not None:
                server.kill()
        if done.returncode:
            shutil.rmtree(folder)
            raise RuntimeError(f"the undisturbed run ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def strike(
    faults: int, first: int, folder: Path, jobs: int, keep: bool, told: Callable[[Schedule, Tally, int], None]
) -> Tally:
    """Runs under the schedules `first`, `first` + 1, ... until so many faults have struck."""
    references, tally, seeds = References(folder / "undisturbed"), Tally(), count(first)
    with ThreadPoolExecutor(jobs) as pool:
        going: dict[Future[Tally], Schedule] = {}
        while tally.tried.total() < faults or going:
            while tally.tried.total() + sum(map(planned, going.values())) < faults and len(going) < jobs:
                schedule = draw(next(seeds))
                going[pool.submit(one, schedule, folder, references, keep)] = schedule
            for done in wait(going, return_when=FIRST_COMPLETED).done:
                found, schedule = done.result(), going.pop(done)
                tally.add(found)
                told(schedule, found, tally.tried.total())
    return tally


def planned(schedule: Schedule) -> int:
    """How many faults strike if all do."""
    return len(schedule.tokens) + sum(len(session.faults) + len(session.before) for session in schedule.sessions)


def one(schedule: Schedule, folder: Path, references: References, keep: bool) -> Tally:
    """One run; its folder stays where something went wrong, or where it is to be kept."""
    reference = references.run(schedule.served, schedule.n_trials)
    here = folder / f"schedule-{schedule.seed}"
    shutil.rmtree(here, ignore_errors=True)
    server = Server(folder / f"server-{schedule.seed}") if schedule.served else None
    try:
        if server is not None:
            server.start()
        tally = Disturbed(schedule, here, reference, server).run()
    finally:
        if server is not None:
            server.kill()
            shutil.rmtree(server.folder, ignore_errors=True)
    if not keep and not tally.troubles:
        shutil.rmtree(here)
    return tally
