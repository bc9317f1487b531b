"""The names that entries of a config would get, before anything of it is checked: so that `--set` can address them.

Code of the user's is not imported for this: a task of a suite that is named by an import string has no name here unless
it gives one.
"""

from __future__ import annotations

import glob
import os
from typing import Any

from proctor.errors import InputError
from proctor.registry import SUITES


def names_to_be(entries: list[Any]) -> list[str | None]:
    """The name of each agent or task of a list; None where it has none, or stands for several. Names that repeat get
    the numbers that they will have."""
    taken = {entry["name"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("name"), str)}
    found: list[str | None] = []
    for entry in entries:
        if not isinstance(entry, dict):
            found.append(entry if isinstance(entry, str) else None)
        elif isinstance(entry.get("name"), str):
            found.append(entry["name"])
        elif "suite" in entry:
            name = _task_name(entry)
            found.append(None if name is None else unique(name, taken))
            taken.add(found[-1])
        else:
            found.append(_agent_name(entry))
    return found


def unique(name: str, taken: set[Any]) -> str:
    """The name, with -2, -3, ... where it is taken."""
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free


def stem_of(policy: str) -> str:
    """The name of an agent without a checkpoint: its loader's or class's."""
    return policy.rpartition(":")[2].rpartition(".")[2]


def _agent_name(entry: dict[str, Any]) -> str | None:
    checkpoint, policy = entry.get("checkpoint"), entry.get("policy")
    if isinstance(checkpoint, str) and "://" not in checkpoint:
        return None if glob.has_magic(checkpoint) else os.path.splitext(os.path.basename(checkpoint))[0]
    return stem_of(policy) if isinstance(policy, str) else None


def _task_name(entry: dict[str, Any]) -> str | None:
    from proctor.suites import find_suite

    options = entry.get("options", {})
    if entry["suite"] not in SUITES or not isinstance(options, dict):
        return None
    try:
        suite = find_suite(entry["suite"])
        several = suite.expand(options)
        return suite.task_name(suite.Options.model_validate(several[0])) if len(several) == 1 else None
    except (InputError, ValueError, TypeError):
        return None
