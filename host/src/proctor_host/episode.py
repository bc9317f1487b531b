"""The record of a trial: per-step arrays and how it ended.

`Episode.arrays` has T rows (steps executed after the warm-up): `actions`, `rewards`, `terminals`, `truncations`,
`success`, every signal by name, and on request `observations` (or `observations.KEY`), which have T+1 rows: the first
observation, then the one after each step. `action_dt_s` is a scalar, NaN where the environment has no clock. What an
environment says once per trial (its constants: a reference motion, an instruction) is there under its own name; the
constant `case` names what the trial is about.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from enum import Enum
from typing import Mapping

import numpy as np

RESERVED = frozenset({"actions", "rewards", "terminals", "truncations", "success", "action_dt_s", "observations"})

PROVENANCE = frozenset({"reset_seed"})
"""Constants that say what a trial was asked for, not what happened: episodes that differ in these alone are copies."""


class Outcome(str, Enum):
    """How a trial ended. It is written as its value."""

    SUCCESS = "success"
    FAILURE = "failure"
    TRUNCATED = "truncated"
    DONE = "done"
    """Ran to its end, where nothing says what success is."""
    INVALID_ACTION = "invalid_action"
    POLICY_ERROR = "policy_error"
    ENV_ERROR = "env_error"
    TIMEOUT = "timeout"
    WORKER_LOST = "worker_lost"

    def __str__(self) -> str:
        return str.__str__(self)

    __format__ = str.__format__

    @property
    def scored(self) -> bool:
        """Whether the trial says something about the agent; the others are faults of the infrastructure."""
        return self not in (Outcome.ENV_ERROR, Outcome.TIMEOUT, Outcome.WORKER_LOST)

    @property
    def broken_by_policy(self) -> bool:
        """Scored as success 0 and with the scoring's floor."""
        return self in (Outcome.INVALID_ACTION, Outcome.POLICY_ERROR)


@dataclass(frozen=True)
class Episode:
    """What metrics read. `max_steps` is the step limit that applied."""

    arrays: Mapping[str, np.ndarray]
    outcome: Outcome
    max_steps: int
    task: str = ""

    @property
    def n_steps(self) -> int:
        return len(self.arrays["rewards"])

    @property
    def dt_s(self) -> float:
        return float(self.arrays["action_dt_s"])

    @property
    def case(self) -> str | None:
        """What the trial is about, where the environment says so."""
        return str(self.arrays["case"]) if "case" in self.arrays else None

    @property
    def first_success(self) -> int | None:
        """1-based step at which success first held; None if never."""
        hits = np.flatnonzero(self.arrays["success"])
        return int(hits[0]) + 1 if hits.size else None

    @property
    def success_from(self) -> int | None:
        """1-based step from which success held to the end; None where it does not hold at the last step."""
        flags = self.arrays["success"]
        if not len(flags) or not flags[-1]:
            return None
        misses = np.flatnonzero(~flags)
        return int(misses[-1]) + 2 if misses.size else 1

    @property
    def total_reward(self) -> float | None:
        """The sum of rewards; None without a step."""
        return float(self.arrays["rewards"].sum()) if self.n_steps else None

    def reached(self, success_rule: str) -> int | None:
        """1-based step at which a task's success rule was met for good; None where it was not, and where success is a
        thing to keep (`throughout`), which is reached at no step."""
        if success_rule == "throughout":
            return None
        return self.first_success if success_rule == "ever" else self.success_from

    def succeeded(self, success_rule: str) -> bool:
        """Whether a task's success rule is met."""
        if success_rule == "throughout":
            return self.n_steps > 0 and bool(self.arrays["success"].all())
        return self.reached(success_rule) is not None

    @property
    def nbytes(self) -> int:
        """Of its arrays."""
        return sum([array.nbytes for array in self.arrays.values()])

    def ending(self, outcome: Outcome) -> Episode:
        """The same episode with this outcome."""
        return replace(self, outcome=outcome)

    def digest(self) -> str:
        return digest(self.arrays)


def digest(arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over names, dtypes, shapes and bytes: equal exactly when the recorded arrays are equal to the byte."""
    h = hashlib.sha256()
    for name in sorted(arrays):
        a = np.asarray(arrays[name])
        h.update(f"{name}|{a.dtype.str}|{a.shape}|".encode())
        h.update(a.tobytes())
    return h.hexdigest()
