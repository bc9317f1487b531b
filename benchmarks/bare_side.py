"""Two bare processes, each with one environment and a plain loop: what the machine gives without any harness.

    python -m benchmarks.bare_side busy STEP_MS EPISODES

Prints one JSON line: the steps per second of both processes together.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import gymnasium
import numpy as np

from benchmarks import two_processes
from benchmarks.envs import EPISODE_STEPS


def loop(step_ms: float, episodes: int, barrier: Any, spans: Any) -> None:
    """Run these episodes as one would without Proctor; record when they began and ended."""
    env = gymnasium.make("benchmarks.envs:Busy-v0", step_s=step_ms / 1000)
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


def busy(step_ms: str, episodes: str) -> dict[str, float]:
    """`episodes` in each process."""
    return two_processes.rates(loop, int(episodes) * EPISODE_STEPS, float(step_ms), int(episodes))


PARTS = {"busy": busy}

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]](*sys.argv[2:])))
