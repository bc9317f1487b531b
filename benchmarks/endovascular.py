"""The embedded endovascular simulator: `python -m benchmarks endovascular`.

    python -m benchmarks.endovascular steps STEPS      one process, scripted navigation: control steps per second
    python -m benchmarks.endovascular bare EPISODES    two bare processes
    python -m benchmarks.endovascular proctor EPISODES two workers of Proctor
    python -m benchmarks.endovascular soak STEPS       random commands for so many steps; prints the worst penetration

Each prints one JSON line. The soak of the docs is a million control steps; it takes an hour.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import tempfile
import time
from typing import Any

import numpy as np

from benchmarks.policies import CLOCK, TrivialPolicy
from proctor.policies.protocol import Batch

EPISODE_STEPS = 120
COMMAND = (18.0, 0.4)
OPTIONS: dict[str, Any] = {"anatomy": {"arch_type": "I", "seed": 1, "target_branches": ["lcca"]}}


class WirePolicy(TrivialPolicy):
    """The command of `play`."""

    def answer(self, batch: Batch) -> np.ndarray:
        return np.tile(np.array(COMMAND, np.float32), (len(batch), 1))


def make() -> Any:
    from proctor.suites.endovascular.env import EndovascularEnv
    from proctor.suites.endovascular.options import EndovascularOptions

    return EndovascularEnv(EndovascularOptions.model_validate(OPTIONS))


def play(env: Any, seed: int) -> None:
    """One episode of pushing with a slow turn: out of the sheath, up the aorta and into a branch, always
    `EPISODE_STEPS` long."""
    env.reset(seed, 0)
    for _ in range(EPISODE_STEPS):
        env.step(np.array(COMMAND, np.float32))


def steps(count: str) -> dict[str, float]:
    env = make()
    play(env, 0)
    episodes = max(int(count) // EPISODE_STEPS, 1)
    started = time.perf_counter()
    for episode in range(episodes):
        play(env, episode)
    return {"steps": episodes * EPISODE_STEPS / (time.perf_counter() - started)}


def _loop(episodes: int, barrier: Any, spans: Any) -> None:
    env = make()
    play(env, 0)
    barrier.wait()
    started = time.perf_counter()
    for episode in range(episodes):
        play(env, episode)
    spans.put((started, time.perf_counter()))


def bare(episodes: str) -> dict[str, float]:
    context = multiprocessing.get_context("spawn")
    barrier, spans = context.Barrier(2), context.Queue()
    processes = [context.Process(target=_loop, args=(int(episodes), barrier, spans)) for _ in range(2)]
    for process in processes:
        process.start()
    measured = [spans.get() for _ in processes]
    for process in processes:
        process.join()
    first, last = min(start for start, _ in measured), max(end for _, end in measured)
    return {"steady": 2 * int(episodes) * EPISODE_STEPS / (last - first)}


def proctor(episodes: str) -> dict[str, float]:
    from proctor import config_from_dict, run_evaluation

    raw = {
        "agents": [{"name": "push", "policy": "benchmarks.endovascular:WirePolicy"}],
        "tasks": [{"suite": "endovascular", "options": OPTIONS}],
        "n_trials": 2 * int(episodes),
        "max_episode_steps": EPISODE_STEPS,
        "workers": 2,
        "num_parallel": 2,
        "scoring": "success",
    }
    play(make(), 0)
    with tempfile.TemporaryDirectory() as folder:
        run = run_evaluation(config_from_dict({**raw, "output_root": folder}))
        done = sum(result.steps_total for result in run.results())
    return {"steady": done / (CLOCK.last - CLOCK.first)}


def soak(count: str) -> dict[str, float]:
    env, rng = make(), np.random.default_rng(0)
    env.reset(0, 0)
    depth, command = 0.0, np.zeros(2, np.float32)
    for step in range(int(count)):
        if step % 8 == 0:
            limit = 35.0 if env.wire.inserted_mm < 350 else -10.0
            command = np.array([rng.uniform(-20.0, limit), rng.uniform(-3.0, 3.0)], np.float32)
        depth = max(depth, env.step(command).signals["wall_depth_max_mm"])
    return {"steps": float(count), "depth_max_mm": depth}


PARTS = {"steps": steps, "bare": bare, "proctor": proctor, "soak": soak}

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]](*sys.argv[2:])))
