"""The tasks: an achievement of Crafter's, and five ways to ask for it.

Every task starts with the same `KIT`, so that the inventory says nothing of the task, and each can be done at once:
the kit holds what placing and digging need, and leaves room to eat, drink and sleep.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, get_args

TaskName = Literal[
    "collect_wood",
    "collect_stone",
    "collect_sapling",
    "collect_drink",
    "eat_cow",
    "defeat_zombie",
    "place_table",
    "place_plant",
    "place_stone",
    "wake_up",
]
TASKS: tuple[TaskName, ...] = get_args(TaskName)
"""A task is named after the achievement that is its success."""

KIT = {"food": 5, "drink": 5, "energy": 8, "sapling": 1, "wood": 2, "stone": 1, "wood_pickaxe": 1}
"""What the player has at the start, where the options say nothing. Items that are not named: as in Crafter."""

INSTRUCTIONS: dict[TaskName, list[str]] = json.loads(Path(__file__).with_name("instructions.json").read_text())
"""Five wordings of each task, in the order of `TASKS`."""


def told(options: Any) -> str:
    """What the agent is told, by the suite's options."""
    return options.instruction or INSTRUCTIONS[options.task][options.wording]
