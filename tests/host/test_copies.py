"""A copy of a worker that comes back from an environment's call leaves no trace in memory that both share."""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from proctor_host import spaces
from proctor_host.batch import BatchWorlds
from proctor_host.cfg import TaskCfg
from proctor_host.environments import BatchEnv, Env, Step
from proctor_host.limits import Watch
from proctor_host.one_by_one import OneByOne
from proctor_host.task import Task
from proctor_host.worlds import Reset

BOX = spaces.Box(-1.0, 1.0, (2,), np.float64)
CFG = TaskCfg(name="forking", suite="toy", options={})
COPIES: list[int] = []


def fork() -> np.ndarray:
    """A first observation; in the copy, later than in the process that asked."""
    pid = os.fork()
    if pid:
        COPIES.append(pid)
    else:
        time.sleep(0.2)
    return np.zeros(2)


class Forking(Env):
    observation_space = action_space = BOX

    def reset(self, seed: int, index: int) -> np.ndarray:
        return fork()

    def step(self, action: Any) -> Step:
        raise NotImplementedError


class ForkingTogether(BatchEnv):
    observation_space = action_space = BOX
    num_worlds = 1

    def reset(self, worlds: Sequence[int], seeds: Sequence[int], indices: Sequence[int]) -> list[Any]:
        return [fork()]

    def step(self, actions: Any) -> Any:
        raise NotImplementedError


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*")
@pytest.mark.parametrize("kind", [Forking, ForkingTogether])
def test_what_a_late_copy_saw_is_not_written_over_what_came_since(kind: type) -> None:
    env = kind()
    task, shared = Task.of(CFG, env), np.frombuffer(mmap.mmap(-1, 16), np.float64).reshape(1, 2)
    if kind is Forking:
        worlds: Any = OneByOne(task, [shared], Watch(), lambda *_: env)
    else:
        worlds = BatchWorlds(task, [shared], Watch(), lambda *_: env, 1)
    (begun,) = worlds.reset([Reset(0, CFG, 0, 0, False)])
    assert begun.problem is None
    shared[:] = 7.0
    assert os.waitstatus_to_exitcode(os.waitpid(COPIES.pop(), 0)[1]) == 0
    assert shared.tolist() == [[7.0, 7.0]]
