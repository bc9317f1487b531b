"""Whether the seed of an environment changes anything: a pair of seeds is run alike, and compared to the byte.

Where it does not, further trials of an agent that draws nothing repeat one episode, and count once.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from proctor_host.environments import Env
from proctor_host.spaces import action_sampler
from proctor_host.task import Task

SEEDS = (271_828, 314_159)
"""Far from those that trials have: an environment that breaks on some seed is left to the trial with that seed."""
STEPS = 50


def ignores_seed(env: Env, task: Task) -> bool:
    """Whether two seeds with their own indices begin alike, and go alike for some steps with the same actions. Raises
    what the environment raises."""
    env.step_limit = task.max_steps + task.cfg.wait_steps
    first = _seen(task, env.reset(SEEDS[0], 0))
    if _seen(task, env.reset(SEEDS[1], 1)) != first:
        return False
    there = _played(env, task)
    env.reset(SEEDS[0], 0)
    return _played(env, task) == there


def _played(env: Env, task: Task) -> list[Any]:
    """What an environment that was just reset gives for some actions, which are always the same."""
    sample, rng = action_sampler(task.action), np.random.default_rng(0)
    given = []
    for _ in range(min(STEPS, task.max_steps)):
        step = env.step(sample(rng))
        given.append((_seen(task, step.observation), step.reward, step.terminated, step.truncated, step.success))
        if step.terminated or step.truncated:
            break
    return given


def _seen(task: Task, observation: Any) -> bytes:
    if task.layout is None:
        return pickle.dumps(observation)
    return b"".join(leaf.tobytes() for leaf in task.layout.split(observation))
