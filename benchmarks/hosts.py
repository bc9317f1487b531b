"""Environments in another interpreter, beside the same ones in worker processes of this one; and policies there, beside
the same ones in the engine."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import turns
from benchmarks.table import Row

TURNS = 40
CASES = {"busy0.5": "0.5 ms a step", "busy2": "2 ms a step", "cameras": "two 256x256 images"}
START_MS = 150.0
ROWS, FORWARDS = 16, 300


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
    yield from policies(repeats)


def policies(repeats: int) -> Iterator[Row]:
    """What a forward of 16 rows costs more where the policy lives in a runtime; the policy itself costs nothing."""
    import numpy as np
    from gymnasium import spaces

    image = spaces.Box(0, 255, (256, 256, 3), np.uint8)
    cases = {
        "8 numbers": (spaces.Box(-1.0, 1.0, (8,)), np.zeros((ROWS, 8), np.float32)),
        "two 256x256 images": (
            spaces.Dict({"front": image, "wrist": image}),
            {name: np.full((ROWS, 256, 256, 3), 7, np.uint8) for name in ("front", "wrist")},
        ),
    }
    for said, (space, observation) in cases.items():
        host, here = (forward_ms(space, observation, python, repeats) for python in (sys.executable, None))
        goal = "under 1 ms"
        yield Row(
            f"a forward of {ROWS} rows, {said}, policy host", host, here, "in the engine", "ms", goal, host < 1.0,
            host / here,
        )  # fmt: skip


def forward_ms(space: Any, observation: Any, python: str | None, repeats: int) -> float:
    """Milliseconds of `act`, the median of many."""
    import numpy as np
    from gymnasium.spaces import Discrete

    from proctor.config.models import AgentCfg, RuntimeCfg
    from proctor.policies.protocol import Batch, Policy, SpaceInfo
    from proctor.rollout.hosted import load_anywhere
    from proctor_host.trials import Trial

    runtime = None if python is None else RuntimeCfg(python=python)
    target = f"{Path(__file__).with_name('idle_policy.py')}:IdlePolicy"
    policy = load_anywhere(
        AgentCfg(name="idle", policy=target, runtime=runtime), SpaceInfo({"task": space}, {"task": Discrete(2)})
    )
    assert isinstance(policy, Policy)
    trials = [Trial("idle", "task", index, index) for index in range(ROWS)]
    batch = Batch(observation, None, [np.random.default_rng(0)] * ROWS, trials)
    seconds = []
    for _ in range(FORWARDS * repeats):
        began = time.perf_counter()
        policy.act(batch)
        seconds.append(time.perf_counter() - began)
    policy.close()
    return 1000 * median(seconds)


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
