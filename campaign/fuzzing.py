"""Fuzzed configs and damaged files, in processes that may crash or hang without taking anybody along."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from campaign.places import ROOT, environment
from campaign.tally import Tally, Trouble

CASE_S = 60.0
"""How long one case may take: two commands on little files."""
START_S = 180.0
"""How long a process may take to begin: it makes its sound files first."""
PROGRAM = "campaign.cases"
"""The module that a process runs."""
SHARE = 200
"""Cases of one process; then a new one, so that nothing piles up in it unseen."""


def fuzz(kind: str, count: int, first: int, folder: Path, jobs: int, told: Callable[[str, Tally], None]) -> Tally:
    """So many cases of `configs` or `files`, from the seed `first` on."""
    tally, lock = Tally(), threading.Lock()
    shares = iter([(at, min(SHARE, first + count - at)) for at in range(first, first + count, SHARE)])

    def work(job: int) -> None:
        here = folder / f"{kind}-{job}"
        while (share := _next(shares, lock)) is not None:
            found = _share(kind, *share, here)
            with lock:
                tally.add(found)
                told(kind, tally)
        shutil.rmtree(here, ignore_errors=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(work, range(jobs)))
    return tally


def _next(shares: Iterator[tuple[int, int]], lock: threading.Lock) -> tuple[int, int] | None:
    with lock:
        return next(shares, None)


def _share(kind: str, first: int, count: int, folder: Path) -> Tally:
    """Cases `first` to `first + count`; after one that crashed or hung, a new process goes on behind it."""
    tally, seed, end = Tally(), first, first + count
    while seed < end:
        seed = _process(kind, seed, end - seed, folder, tally)
    return tally


def _process(kind: str, first: int, count: int, folder: Path, tally: Tally) -> int:
    """Run cases until the process ends; the first case that is still to do."""
    command = [sys.executable, "-P", "-m", PROGRAM, kind, str(first), str(count), str(folder)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        env=environment(),
        cwd=ROOT,
    )
    assert process.stdout is not None
    begun = None
    try:
        for line in _lines(process.stdout.fileno()):
            message = json.loads(line)
            if "begun" in message:
                begun = message["begun"]
                continue
            begun = None
            what = f"{kind}: {message['what']}"
            tally.tried[what] += 1
            for trouble, detail in message["troubles"]:
                tally.troubles.append(Trouble(trouble, (what,), detail, _again(kind, message["ended"])))
            if message["ended"] == first + count - 1:
                return first + count
    except TimeoutError:
        if begun is None:
            raise RuntimeError(f"no case began within {START_S:.0f} s: {' '.join(command)}") from None
        tally.tried[kind] += 1
        tally.troubles.append(
            Trouble("hung", (kind,), f"case {begun}: longer than {CASE_S:.0f} s", _again(kind, begun))
        )
        return begun + 1
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    if begun is None:
        raise RuntimeError(f"ended with {process.returncode} before a case: {' '.join(command)}")
    tally.tried[kind] += 1
    tally.troubles.append(
        Trouble(
            "unexplained", (kind,), f"case {begun}: the process ended with {process.returncode}", _again(kind, begun)
        )
    )
    return begun + 1


def _lines(fd: int) -> Iterator[bytes]:
    """Lines as they come. Raises TimeoutError where none comes in time."""
    rest, patience = b"", START_S
    while True:
        if not select.select([fd], [], [], patience)[0]:
            raise TimeoutError
        patience = CASE_S
        if not (data := os.read(fd, 1 << 16)):
            return
        *lines, rest = (rest + data).split(b"\n")
        yield from lines


def _again(kind: str, seed: int) -> str:
    return f"python -m campaign --{kind} 1 --first {seed}"
