"""Soccer on sai-mujoco: `python -m benchmarks soccer`.

    python -m benchmarks.soccer bare EPISODES      two bare processes: plain loops that read the reward terms
    python -m benchmarks.soccer proctor EPISODES   two workers of Proctor, which record them
    python -m benchmarks.soccer step STEPS         one process: microseconds of a step, plain and as the suite gives it
    python -m benchmarks.soccer agents TRIALS      how long zero and stand stay up, and what the competition pays them

Each prints one JSON line.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from typing import Any

import numpy as np

from benchmarks import two_processes
from benchmarks.policies import TrivialPolicy
from benchmarks.proctor_side import measure
from proctor.policies.protocol import Batch

TASK = "LowerT1GoaliePenaltyKick-v0"
EPISODE_STEPS = 250
"""Before a robot that does nothing has fallen."""
SLOTS = 8
"""Four for each worker: one is stepped while the others wait for their answers."""


class LimpPolicy(TrivialPolicy):
    """No torques, as in `play`."""

    def answer(self, batch: Batch) -> np.ndarray:
        return np.zeros((len(batch), 12), np.float32)


def make() -> Any:
    import gymnasium
    import sai_mujoco  # noqa: F401 - registers the ids

    return gymnasium.make(TASK)


def play(env: Any, seed: int) -> float:
    """One episode, with the terms of every step read from where the environment leaves them. The competition's function
    asks for them anew, which would cost this side more."""
    env.reset(seed=seed)
    terms: dict[str, float] = {}
    for _ in range(EPISODE_STEPS):
        info = env.step(np.zeros(12, np.float32))[-1]
        terms = {name: float(value) for name, value in info["reward_terms"].items()}
    return sum(terms.values())


def bare(episodes: str) -> dict[str, float]:
    return two_processes.episode_rates(make, play, int(episodes), EPISODE_STEPS)


def proctor(episodes: str) -> dict[str, float]:
    raw = {
        "agents": [{"name": "limp", "policy": "benchmarks.soccer:LimpPolicy"}],
        "tasks": [{"suite": "soccer", "options": {"task": TASK}}],
        "n_trials": 2 * int(episodes),
        "max_episode_steps": EPISODE_STEPS,
        "num_parallel": SLOTS,
        "workers": 2,
        "scoring": "success",
    }
    return measure(raw, 2 * int(episodes) * EPISODE_STEPS)


def step(count: str) -> dict[str, float]:
    """Median microseconds."""
    from proctor.suites.soccer.env import SoccerEnv
    from proctor.suites.soccer.options import SoccerOptions

    plain, ours = make(), SoccerEnv(SoccerOptions(task=TASK))
    official = SoccerEnv(SoccerOptions(task=TASK, preprocessor="official"))

    plain.reset(seed=0)
    ours.reset(0, 0)
    official.reset(0, 0)
    sides = {"plain": plain.step, "suite": ours.step, "official": official.step}
    spent: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(min(int(count), EPISODE_STEPS)):
        for name, take in sides.items():
            started = time.perf_counter()
            take(np.zeros(12, np.float32))
            spent[name].append(time.perf_counter() - started)
    return {name: round(1e6 * float(np.median(seconds)), 1) for name, seconds in spent.items()}


def agents(trials: str) -> dict[str, Any]:
    """Means over trials of whole episodes, by agent and task."""
    from proctor.suites.soccer.tasks import NAMES, OFFICIAL

    raw = {
        "agents": [{"name": "zero", "policy": "zero"}, {"name": "stand", "policy": "soccer/stand"}],
        "tasks": [{"suite": "soccer", "options": {"task": task}} for task in OFFICIAL],
        "n_trials": int(trials),
        "num_parallel": SLOTS,
        "workers": 2,
        "scoring": {"mode": "terminal", "options": {"preset": "sai"}},
    }
    from proctor import config_from_dict, run_evaluation

    with tempfile.TemporaryDirectory() as folder:
        run = run_evaluation(config_from_dict({**raw, "output_root": folder}))
        results, report = list(run.results()), run.report()
    steps = {
        f"{agent} {NAMES[task]} steps": float(
            np.mean([r.steps_total or 0 for r in results if (r.trial.agent, r.trial.task) == (agent, NAMES[task])])
        )
        for agent in ("zero", "stand")
        for task in OFFICIAL
    }
    return steps | {f"{agent['agent']} score": round(agent["score_mean"], 3) for agent in report["agents"]}


PARTS = {"bare": bare, "proctor": proctor, "step": step, "agents": agents}

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]](*sys.argv[2:])))
