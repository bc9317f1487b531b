"""The reference policy scaled up, with random weights in bfloat16, on a GPU: how many episodes an hour, how busy is it?

`python -m benchmarks.large_policy [--slots 1 16 64] [--size large] [--device cuda]` prints a line for each number of
slots. An episode is 256 steps of a made-up environment, which takes 5 ms a step and shows a camera image of random
bytes; a plan has 4 waypoints of 8 steps, and the expert is asked once for each. Two shares of time are given: of a
forward being under way (its copies included), and of the GPU executing anything, as nvidia-smi samples it. Both are
taken from the first forward to the last.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from dataclasses import dataclass
from statistics import mean
from typing import Any

from benchmarks.large_parts import EPISODE_STEPS, LOG, SIZES
from benchmarks.table import machine


class Meter:
    """nvidia-smi in the background; `share` is the mean of its samples since `begin`, None without a GPU."""

    def __init__(self, device: str):
        command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "200"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True) if device != "cpu" else None

    def share(self, skip_s: float, keep_s: float) -> float | None:
        """Stop, and the mean of the samples from `skip_s` after the start on, for `keep_s`."""
        if self._process is None:
            return None
        self._process.terminate()
        printed, _ = self._process.communicate()
        samples = [float(line) / 100 for line in printed.splitlines() if line.strip().isdigit()]
        return mean(samples[int(skip_s / 0.2) : int((skip_s + keep_s) / 0.2)] or samples)


@dataclass(frozen=True)
class Setup:
    size: str
    device: str
    workers: int
    episodes_per_slot: int
    steps: int


def measure(slots: int, setup: Setup) -> str:
    """One line about a run in so many slots. Raises RuntimeError where an episode is missing."""
    from proctor import config_from_dict, run_evaluation

    LOG.spans.clear()
    trials = slots * setup.episodes_per_slot
    with tempfile.TemporaryDirectory() as folder:
        cfg = config_from_dict(_config(slots, trials, setup) | {"output_root": folder})
        meter, started = Meter(setup.device), time.perf_counter()
        results = list(run_evaluation(cfg).results())
        gpu = meter.share(min(start for start, _ in LOG.spans) - started, LOG.seconds())
    done = sum(result.steps_total or 0 for result in results)
    if done != trials * setup.steps:
        raise RuntimeError(f"{trials} episodes made {done} steps; expected {trials * setup.steps}")
    hourly = 3600 * trials / LOG.seconds()
    executing = "" if gpu is None else f", GPU executing {gpu:.0%}"
    return (
        f"{LOG.parameters / 1e9:.2f} billion parameters, {slots} slots: {hourly:,.0f} episodes/hour, "
        f"{len(LOG.spans) / LOG.seconds():.1f} forwards/s, a forward under way {LOG.busy():.0%}{executing}"
    )


def _config(slots: int, trials: int, setup: Setup) -> dict[str, Any]:
    policy = {"name": "large", "policy": "benchmarks.large_parts:LargePolicy", "device": setup.device}
    rows = min(slots, 16)
    options = {"pad_to": rows, "max_batch": slots, "kwargs": {"size": setup.size, "rows": rows}}
    kwargs = {"size": SIZES[setup.size].image_size, "steps": setup.steps}
    return {
        "name": "large-policy",
        "agents": [policy | {"options": options}],
        "tasks": [{"suite": "gymnasium", "options": {"id": "benchmarks.large_parts:Scene-v0", "kwargs": kwargs}}],
        "n_trials": trials,
        "num_parallel": slots,
        "workers": min(setup.workers, slots),
        "record": "series",
        "scoring": "success",
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large_policy", description=__doc__)
    parser.add_argument("--slots", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--size", choices=SIZES, default="large")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--workers", type=int, default=8, help="processes that host environments")
    parser.add_argument("--episodes-per-slot", type=int, default=3)
    parser.add_argument("--steps", type=int, default=EPISODE_STEPS, help="of an episode")
    arguments = parser.parse_args()
    setup = Setup(arguments.size, arguments.device, arguments.workers, arguments.episodes_per_slot, arguments.steps)
    print(machine(), flush=True)
    for slots in arguments.slots:
        print(measure(slots, setup), flush=True)


if __name__ == "__main__":
    main()
