"""Environments in another interpreter, beside the same ones in worker processes of this one."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from statistics import median

from benchmarks import turns
from benchmarks.table import Row

TURNS = 40
CASES = {"busy0.5": "0.5 ms a step", "busy2": "2 ms a step", "cameras": "two 256x256 images"}
START_MS = 150.0


def hosts(repeats: int) -> Iterator[Row]:
    """Two hosts in a runtime, and two worker processes of this interpreter; how long a host takes to start."""
    for case, said in CASES.items():
        command = [sys.executable, "-m", "benchmarks.endless", case, "engine"]
        found = turns.rates({"host": [*command, sys.executable], "here": command}, TURNS * repeats)
        ratio, error = turns.ratio(found["host"], found["here"])
        host, here = (float(found[name].mean()) for name in ("host", "here"))
        met = ratio > 0.97 or ratio + 2 * error > 1.0
        yield Row(f"{said}, 2 hosts", host, here, "in this interpreter", "steps/s", "0.97", met, ratio, "", error)
    started = [start_s() for _ in range(7 * repeats)]
    floor = [numpy_s() for _ in range(7 * repeats)]
    ours, theirs = 1000 * median(started), 1000 * median(floor)
    met = ours < START_MS
    yield Row("start of a host", ours, theirs, "python importing numpy", "ms", "under 150 ms", met, ours / theirs)


def start_s() -> float:
    """Seconds until a host in another interpreter has greeted."""
    from proctor.config.models import RuntimeCfg
    from proctor.rollout.backends.host import HostBackend
    from proctor.rollout.backends.process import ProcessWorker
    from proctor.runtimes import locate
    from proctor_host.cfg import WorkerCfg

    runtime = RuntimeCfg(python=sys.executable)
    locate(runtime)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        worker = HostBackend.of(runtime, WorkerCfg(folder, {})).hire(1)
        assert isinstance(worker, ProcessWorker)
        while not worker.greeting:
            worker.events()
            time.sleep(0.0005)
        seconds = time.perf_counter() - began
        worker.kill()
    return seconds


def numpy_s() -> float:
    from benchmarks.comparisons import duration

    return duration([sys.executable, "-c", "import numpy"])
