"""The tasks: an achievement of Crafter's, and five ways to ask for it.

Every task starts with the same `KIT`, so that the inventory says nothing of the task, and each can be done at once:
the kit holds what placing and digging need, and leaves room to eat, drink and sleep.
"""

from __future__ import annotations

from typing import Literal, get_args

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

INSTRUCTIONS: dict[TaskName, tuple[str, str, str, str, str]] = {
    "collect_wood": (
        "chop a tree",
        "get some wood",
        "cut down a tree and take the wood",
        "gather a log from the forest",
        "go to a tree and collect its timber",
    ),
    "collect_stone": (
        "mine a stone",
        "dig a block out of the rock",
        "get stone with the pickaxe",
        "break the grey rock and take a piece",
        "go to the mountain and mine",
    ),
    "collect_sapling": (
        "collect a sapling",
        "search the grass for a seedling",
        "pull a sapling out of the grass",
        "find a young shoot in the meadow",
        "take a seedling from the ground",
    ),
    "collect_drink": (
        "drink water",
        "go to the lake and drink",
        "quench your thirst",
        "have a sip of water",
        "find water and drink it",
    ),
    "eat_cow": (
        "eat a cow",
        "hunt a cow for its meat",
        "get some beef",
        "find a cow and have a meal",
        "still your hunger with meat",
    ),
    "defeat_zombie": (
        "defeat a zombie",
        "fight the green monster",
        "kill a zombie",
        "attack the undead until it falls",
        "slay a monster in the meadow",
    ),
    "place_table": (
        "place a table",
        "build a crafting table",
        "put down a workbench",
        "set up a table from your wood",
        "make a bench to craft at",
    ),
    "place_plant": (
        "plant the sapling",
        "put a sapling into the soil",
        "plant a seedling",
        "grow a plant on the grass",
        "set the young plant into the earth",
    ),
    "place_stone": (
        "place a stone",
        "put a block of stone down",
        "set a stone in front of you",
        "build a wall of stone",
        "lay the stone on the ground",
    ),
    "wake_up": (
        "sleep and wake up",
        "take a nap",
        "go to bed and get up again",
        "rest until you are awake",
        "sleep until your energy is full",
    ),
}
