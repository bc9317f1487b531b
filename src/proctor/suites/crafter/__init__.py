"""Crafter: a small open world with trees, stone, water and creatures, and tasks given as instructions.

- `tasks`: the tasks, what they ask for in words, what success is; all data.
- `simulator`: Crafter made reproducible; `names`: what its numbers mean.
- `suite`, `env`: the task and its options; `skills`, `agents`: scripted agents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proctor.exports import lazily

if TYPE_CHECKING:
    from proctor.suites.crafter import skills
    from proctor.suites.crafter.env import CrafterEnv
    from proctor.suites.crafter.suite import CrafterOptions
    from proctor.suites.crafter.tasks import INSTRUCTIONS, TASKS, TaskName

__getattr__ = lazily(__name__, __file__)

__all__ = ["INSTRUCTIONS", "TASKS", "CrafterEnv", "CrafterOptions", "TaskName", "skills"]
