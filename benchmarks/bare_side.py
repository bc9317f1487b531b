"""Two bare processes, each with one environment and a plain loop: what the machine gives without any harness.

    python -m benchmarks.bare_side calibrate
    python -m benchmarks.bare_side busy WORK EPISODES

Prints one JSON line: the rounds of work that take a millisecond, or the steps per second of both
processes together.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import gymnasium
import numpy as np

from benchmarks import two_processes
from benchmarks.envs import EPISODE_STEPS, toil


def calibrate() -> dict[str, int]:
    """By the fastest of many timings: a step then costs at least what it should, also on a busy machine."""
    rounds = 10_000
    fastest_s = float("inf")
    for _ in range(200):
        started = time.perf_counter()
        toil(rounds)
        fastest_s = min(fastest_s, time.perf_counter() - started)
    return {"work": int(rounds * 1e-3 / fastest_s)}


def loop(work: int, episodes: int, barrier: Any, spans: Any) -> None:
    """Run these episodes as one would without Proctor; record when they began and ended."""
    env = gymnasium.make("benchmarks.envs:Busy-v0", work=work)
    barrier.wait()
    started = time.perf_counter()
    for episode in range(episodes):
        env.reset(seed=episode)
        done = False
        while not done:
            action = np.zeros((1, 4), np.float32)[0]
            _, _, terminated, truncated, _ = env.step(action)
            done = terminated or truncated
    spans.put((started, time.perf_counter()))


def busy(work: str, episodes: str) -> dict[str, float]:
    """`episodes` in each process."""
    return two_processes.rates(loop, int(episodes) * EPISODE_STEPS, int(work), int(episodes))


PARTS = {"calibrate": calibrate, "busy": busy}

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]](*sys.argv[2:])))
