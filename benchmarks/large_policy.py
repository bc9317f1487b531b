"""The reference policy scaled up, with random weights in bfloat16, on a GPU: how many episodes an hour, how busy is it?

`python -m benchmarks.large_policy [--slots 1 16 64] [--replicas 0 1 2] [--size large] [--device cuda]` prints a line
for each number of replicas and of slots. Without replicas (0) the engine asks the policy in this process, and worker
processes have the environments; with N, workers and N replicas that share the one GPU are actors of a Ray cluster of
this machine. An episode is 256 steps of a made-up environment, which takes 5 ms a step, asleep, and shows a camera
image of random bytes; a plan has 4 waypoints of 8 steps, and the expert is asked once for each. A run goes on for
some seconds after all replicas have warmed up, and these seconds are looked at. Two shares of them are given: of a
forward being under way (its copies included), and of the GPU executing anything, as nvidia-smi samples it.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.large_parts import EPISODE_STEPS, LEG_STEPS, SIZES, Log
from benchmarks.table import machine

WARM_FORWARDS = 20
"""Of each process that has the policy, before it is looked at."""
EPISODES_PER_SLOT = 1_000
"""More than are ever run."""
PATIENCE_S = 300.0


class Meter:
    """nvidia-smi in the background, from now on."""

    def __init__(self, device: str):
        command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "200"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True) if device != "cpu" else None

    def share(self) -> float | None:
        """Stop, and the mean of the samples; None without a GPU."""
        if self._process is None:
            return None
        self._process.terminate()
        printed, _ = self._process.communicate()
        return mean([float(line) / 100 for line in printed.splitlines() if line.strip().isdigit()])


@dataclass(frozen=True)
class Setup:
    """`workers` None: one for each slot, 64 at most."""

    size: str
    device: str
    workers: int | None
    seconds: float
    steps: int


class Window:
    """The seconds of a run that are looked at: they begin when every process with the policy has warmed up."""

    def __init__(self, folder: Path, processes: int, setup: Setup):
        from proctor import CancelToken

        self.cancel = CancelToken()
        self.begin, self.end = 0.0, 0.0
        self.executing: float | None = None
        self._folder, self._processes, self._setup = folder, processes, setup
        self._meter: Meter | None = None
        self._late = time.monotonic() + PATIENCE_S

    def observe(self, progress: Any) -> None:
        """Called again and again while the run goes on."""
        now = time.monotonic()
        if self._meter is None and self._warm():
            self.begin, self._meter = now, Meter(self._setup.device)
        elif self._meter is not None and not self.end and now > self.begin + self._setup.seconds:
            self.end, self.executing = now, self._meter.share()
            self.cancel.cancel()
        elif self._meter is None and now > self._late:
            self.cancel.cancel()

    def _warm(self) -> bool:
        files = list(self._folder.glob("*.log"))
        return len(files) >= self._processes and all(file.read_text().count("\n") > WARM_FORWARDS for file in files)


def measure(slots: int, replicas: int, setup: Setup) -> str:
    """One line about a run in so many slots. Raises RuntimeError where the run ended before it had been measured."""
    from proctor import config_from_dict, run_evaluation

    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as logs:
        window = Window(Path(logs), max(replicas, 1), setup)
        cfg = config_from_dict({**_config(slots, replicas, setup, logs), "output_root": folder})
        run = run_evaluation(cfg, progress=window.observe, cancel=window.cancel)
        if not window.end:
            raise RuntimeError(f"the run ended before it had been measured; see {run.path / 'run.log'}")
        log = Log.read(Path(logs)).between(window.begin, window.end)
    hourly = 3600 * log.asked("act") * LEG_STEPS / setup.steps / log.seconds()
    where = {0: "asked by the engine", 1: "1 replica"}.get(replicas, f"{replicas} replicas")
    executing = "" if window.executing is None else f", GPU executing {window.executing:.0%}"
    return (
        f"{log.parameters / 1e9:.2f} billion parameters, {where}, {slots} slots: {hourly:,.0f} episodes/hour, "
        f"{len(log.spans) / log.seconds():.1f} forwards/s of {mean(log.rows):.1f} rows, "
        f"a forward under way {log.busy():.0%}{executing}"
    )


def _config(slots: int, replicas: int, setup: Setup, logs: str) -> dict[str, Any]:
    policy = {"name": "large", "policy": "benchmarks.large_parts:LargePolicy", "device": setup.device}
    rows = min(slots, 16)
    options = {"pad_to": rows, "max_batch": rows, "kwargs": {"size": setup.size, "rows": rows, "folder": logs}}
    kwargs = {"size": SIZES[setup.size].image_size, "steps": setup.steps}
    return {
        "name": "large-policy",
        "agents": [policy | {"options": options}],
        "tasks": [{"suite": "gymnasium", "options": {"id": "benchmarks.large_parts:Scene-v0", "kwargs": kwargs}}],
        "n_trials": slots * EPISODES_PER_SLOT,
        "num_parallel": slots,
        "workers": _workers(min(setup.workers or 64, slots), replicas, setup.device),
        "record": "series",
        "scoring": "success",
        "report": {"pictures": False},
    }


def _workers(count: int, replicas: int, device: str) -> Mapping[str, Any]:
    """Workers are asleep most of the time, so that a machine has room for more of them than it has cores."""
    if replicas == 0:
        return {"kind": "process", "count": count}
    gpus = 0.0 if device == "cpu" else 1.0 / replicas
    options = {"address": "local", "cpus": 0.01, "replicas": replicas, "replica_gpus": gpus}
    return {"kind": "ray", "count": count, "options": options}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large_policy", description=__doc__)
    parser.add_argument("--slots", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--replicas", type=int, nargs="+", default=[0], help="0: the engine asks the policy")
    parser.add_argument("--size", choices=SIZES, default="large")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--workers", type=int, help="that host environments; default: one for each slot, at most 64")
    parser.add_argument("--seconds", type=float, default=20.0, help="that are looked at")
    parser.add_argument("--steps", type=int, default=EPISODE_STEPS, help="of an episode")
    asked = parser.parse_args()
    setup = Setup(asked.size, asked.device, asked.workers, asked.seconds, asked.steps)
    print(machine(), flush=True)
    for replicas in asked.replicas:
        for slots in asked.slots:
            print(measure(slots, replicas, setup), flush=True)


if __name__ == "__main__":
    main()
