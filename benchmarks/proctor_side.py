"""Proctor's side of the comparisons.

    python -m benchmarks.proctor_side overhead|batching|cameras
    python -m benchmarks.proctor_side parallel SLOTS
    python -m benchmarks.proctor_side busy WORK EPISODES
    python -m benchmarks.proctor_side memory TRIALS

Prints one JSON line: steps per second of the `whole` call of `run_evaluation` (start-up, records and reports
included) and while `steady` (from when every slot has begun a trial to the last forward), and the process's peak memory
in MB.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from typing import Any

from benchmarks.envs import EPISODE_STEPS
from benchmarks.policies import CLOCK


def config(env: str, policy: str, n_trials: int, **run: Any) -> dict[str, Any]:
    """A run of one agent on one task in 16 slots; `env_kwargs` among `run` goes to the environment."""
    kwargs = run.pop("env_kwargs", {})
    return {
        "name": "benchmark",
        "agents": [{"name": "agent", "policy": f"benchmarks.policies:{policy}"}],
        "tasks": [{"suite": "gymnasium", "options": {"id": f"benchmarks.envs:{env}-v0", "kwargs": kwargs}}],
        "n_trials": n_trials,
        "num_parallel": 16,
        "workers": "inline",
        "record": "series",
        "scoring": "success",
        **run,
    }


def measure(raw: dict[str, Any], steps: int) -> dict[str, float]:
    """Run and time it. Raises RuntimeError where a trial is missing or has other than the expected steps."""
    from proctor import config_from_dict, run_evaluation

    with tempfile.TemporaryDirectory() as folder:
        cfg = config_from_dict({**raw, "output_root": folder})
        CLOCK.slots = cfg.num_parallel
        started = time.perf_counter()
        run = run_evaluation(cfg)
        whole_s = time.perf_counter() - started
        done = sum(result.steps_total for result in run.results())
    if not done == CLOCK.rows == steps:
        raise RuntimeError(f"the run made {done} steps of {CLOCK.rows} actions; expected {steps}")
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return {"whole": steps / whole_s, "steady": CLOCK.rate(), "peak_mb": peak_mb}


def overhead() -> dict[str, float]:
    return measure(config("Trivial", "TrivialPolicy", 2_000), 2_000 * EPISODE_STEPS)


def batching() -> dict[str, float]:
    return measure(config("Trivial", "SleepyPolicy", 32), 32 * EPISODE_STEPS)


def parallel(slots: str) -> dict[str, float]:
    trials = 2 * int(slots)
    return measure(config("Trivial", "SleepyPolicy", trials, num_parallel=int(slots)), trials * EPISODE_STEPS)


def cameras() -> dict[str, float]:
    return measure(config("Cameras", "CameraPolicy", 64, workers=2), 64 * EPISODE_STEPS)


def busy(work: str, episodes: str) -> dict[str, float]:
    trials = 2 * int(episodes)
    raw = config("Busy", "TrivialPolicy", trials, workers=2, env_kwargs={"work": int(work)})
    return measure(raw, trials * EPISODE_STEPS)


def memory(trials: str) -> dict[str, float]:
    raw = config("Trivial", "TrivialPolicy", int(trials), env_kwargs={"episode_steps": 5})
    return measure(raw, int(trials) * 5)


PARTS = {
    "overhead": overhead, "batching": batching, "parallel": parallel, "cameras": cameras, "busy": busy,
    "memory": memory,
}  # fmt: skip

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]](*sys.argv[2:])))
