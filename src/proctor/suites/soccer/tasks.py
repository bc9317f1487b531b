"""The tasks of sai-mujoco, by id and by short name, and the seeds of the matches of an official run."""

from __future__ import annotations

import hashlib
import hmac
import re
from types import MappingProxyType

from proctor.registry import did_you_mean

KINDS = ("GoaliePenaltyKick", "ObstaclePenaltyKick", "KickToTarget", "PenaltyKick")
LOWER, WHOLE = "LowerT1", "T1"
"""The robot of the competition, with legs only, driven by torques; and the whole one, driven by joint positions."""
MASTER_BYTES, INDEX_BYTES, SEED_BYTES = 32, 8, 8
BROKEN = "GoalKeeper"
"""Registered by sai-mujoco, but its environment cannot be built."""


def _short(kind: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).lower()


TASKS = MappingProxyType(
    {
        **{_short(kind): f"{LOWER}{kind}-v0" for kind in KINDS},
        **{f"t1_{_short(kind)}": f"{WHOLE}{kind}-v0" for kind in KINDS},
    }
)
"""Short name -> id."""
NAMES = MappingProxyType({task_id: name for name, task_id in TASKS.items()})
"""Id -> short name."""
OFFICIAL = tuple(TASKS[_short(kind)] for kind in KINDS[:3])
"""The tasks of the competition, in the order of its task code."""


def task_id(name: str) -> str:
    """The id behind an id or a short name. Raises ValueError for another name, with the nearest one that there is."""
    if name in NAMES:
        return name
    if name in TASKS:
        return TASKS[name]
    if BROKEN.lower() in name.lower().replace("_", ""):
        raise ValueError(f'found "{name}", which sai-mujoco registers but cannot build; expected {_known()}')
    hint = did_you_mean(name, [*TASKS, *NAMES])
    raise ValueError(f'found "{name}"; expected {_known()}, or such an id as {OFFICIAL[0]}{hint}')


def _known() -> str:
    return f"one of {', '.join(TASKS)}"


def has_legs_only(task: str) -> bool:
    """Whether a task (by id) is driven by the torques of twelve leg joints."""
    return task.startswith(LOWER)


def match_seed(master: int, index: int) -> int:
    """The seed of one match, below 2**64: HKDF-SHA256 of the master seed, with the index as its purpose. One block of
    the expansion has more bytes than a seed needs."""
    key = hmac.digest(bytes(hashlib.sha256().digest_size), master.to_bytes(MASTER_BYTES, "big"), "sha256")
    block = hmac.digest(key, index.to_bytes(INDEX_BYTES, "big") + b"\x01", "sha256")
    return int.from_bytes(block[:SEED_BYTES], "big")


def code_index(task: str, given: int | None) -> int | None:
    """Which entry of the competition's task code is 1: what is given, else the task's place in the competition; None
    where nobody knows."""
    return OFFICIAL.index(task) if given is None and task in OFFICIAL else given
