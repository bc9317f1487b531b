"""Meta-World's simulations, and the variations of a task.

A variation is a vector that says where objects and goal are. `variations` draws what `metaworld.MT1(task, seed)` draws,
number by number, without running the physics of the resets in between and without a global generator.
"""

from __future__ import annotations

import functools
import pickle
import sys
from typing import Any

import numpy as np

from proctor.errors import optional


def make_world(task: str) -> Any:
    """Meta-World's environment of a task, which never ends an episode by itself."""
    world = optional("metaworld.env_dict", "the metaworld suite", "metaworld").ALL_V3_ENVIRONMENTS[task]()
    world.max_path_length = sys.maxsize
    return world


def set_variation(world: Any, task: str, vector: np.ndarray, goal_observable: bool) -> None:
    """Have the next reset put objects and goal where `vector` says."""
    from metaworld.types import Task

    data = {"env_cls": type(world), "rand_vec": vector.copy(), "partially_observable": not goal_observable}
    world.set_task(Task(task, pickle.dumps(data)))


@functools.lru_cache(maxsize=64)
def variations(task: str, seed: int, count: int) -> np.ndarray:
    """The first `count` variations, one a row; read-only."""
    import mujoco

    world = make_world(task)
    world._set_task_called, world._freeze_rand_vec, world.seeded_rand_vec = True, False, True
    world.np_random = np.random.RandomState(seed)
    world.do_simulation = lambda *_, **__: mujoco.mj_kinematics(world.model, world.data)
    drawn = []
    for _ in range(count):
        world.reset()
        drawn.append(world._last_rand_vec.copy())
    world.close()
    vectors = np.array(drawn)
    vectors.setflags(write=False)
    return vectors
