"""A trial: the unit that is planned, run, retried and resumed.

A trial is a function of (agent, task, seed). Its `key` names it within a run and never changes, whatever
other agents, tasks or trials the run has. `index` counts the trials of one (agent, task) pair from 0 and is
also the explicit initial-state index handed to the environment; the seed, below 2**64, is the one that `reset` gets.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

POLICY_STREAM = 1  # keeps a policy's draws apart from an environment that seeds itself with the same integer


@dataclass(frozen=True)
class Trial:
    """One (agent, task, seed). `index` is its number among the trials of the same agent and task."""

    agent: str
    task: str
    index: int
    seed: int

    @property
    def key(self) -> str:
        """Stable name within a run: `agent/task/0007`."""
        return f"{self.agent}/{self.task}/{self.index:04d}"

    def policy_rng(self) -> np.random.Generator:
        """The trial's own generator, from which a policy draws. The same for every agent: two equal agents act
        alike."""
        task_word = int.from_bytes(hashlib.blake2b(self.task.encode(), digest_size=4).digest(), "big")
        sequence = np.random.SeedSequence(self.seed, spawn_key=(POLICY_STREAM, task_word))
        return np.random.Generator(np.random.PCG64(sequence))
