"""Proctor's side of the comparisons.

    python -m benchmarks.proctor_side batching|cameras
    python -m benchmarks.proctor_side overhead PLACEMENT
    python -m benchmarks.proctor_side parallel SLOTS
    python -m benchmarks.proctor_side busy STEP_MS EPISODES PLACEMENT
    python -m benchmarks.proctor_side memory TRIALS

Prints one JSON line: steps per second of the `whole` call of `run_evaluation` (start-up, records and reports
included) and while `steady` (while every slot has a trial, records included), and the process's peak memory in MB.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.envs import EPISODE_STEPS
from benchmarks.folders import run_folder
from benchmarks.policies import read_clocks


def config(env: str, policy: str, n_trials: int, **run: Any) -> dict[str, Any]:
    """A run of one agent on one task in 16 slots; `env_kwargs` among `run` goes to the environment, `placement` says
    where the policy is asked."""
    kwargs, options = run.pop("env_kwargs", {}), {"placement": run.pop("placement", "engine")}
    return {
        "name": "benchmark",
        "agents": [{"name": "agent", "policy": f"benchmarks.policies:{policy}", "options": options}],
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

    with run_folder() as folder, tempfile.TemporaryDirectory() as clocks:
        agents = [_timed(agent, raw, clocks) for agent in raw["agents"]]
        cfg = config_from_dict({**raw, "agents": agents, "output_root": folder})
        started = time.perf_counter()
        run = run_evaluation(cfg)
        whole_s = time.perf_counter() - started
        done = sum(result.steps_total or 0 for result in run.results())
        rows, rate = read_clocks(Path(clocks))
    if done != steps or rows < steps:  # some forwards are asked again, to see whether rows depend on each other
        raise RuntimeError(f"the run made {done} steps of {rows} actions; expected {steps}")
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return {"whole": steps / whole_s, "steady": rate, "peak_mb": peak_mb}


def _timed(agent: dict[str, Any], raw: dict[str, Any], clocks: str) -> dict[str, Any]:
    """An agent whose policy, a `TrivialPolicy`, leaves its clock in a folder."""
    options = agent.get("options", {})
    processes = raw["workers"] if options.get("placement") == "worker" and raw["workers"] != "inline" else 1
    kwargs = {"clocks": clocks, "slots": raw["num_parallel"] // processes}
    return {**agent, "options": {**options, "kwargs": kwargs}}


def overhead(placement: str) -> dict[str, float]:
    return measure(config("Trivial", "TrivialPolicy", 2_000, placement=placement), 2_000 * EPISODE_STEPS)


def batching() -> dict[str, float]:
    return measure(config("Trivial", "SleepyPolicy", 32), 32 * EPISODE_STEPS)


def parallel(slots: str) -> dict[str, float]:
    trials = 2 * int(slots)
    return measure(config("Trivial", "SleepyPolicy", trials, num_parallel=int(slots)), trials * EPISODE_STEPS)


def cameras() -> dict[str, float]:
    return measure(config("Cameras", "CameraPolicy", 64, workers=2), 64 * EPISODE_STEPS)


def busy(step_ms: str, episodes: str, placement: str) -> dict[str, float]:
    trials, env = 2 * int(episodes), {"step_s": float(step_ms) / 1000}
    raw = config("Busy", "TrivialPolicy", trials, workers=2, env_kwargs=env, placement=placement)
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
