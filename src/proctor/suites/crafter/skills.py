"""Scripted skills: what to do for each task, from a map.

A skill sees cells `(width, height)` of `names.CELLS`, where the player stands and faces, and what it owns. It goes to
the nearest cell that will do, by the shortest way round what stands in between, faces it and acts. Where it sees none
it wanders.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proctor.suites.crafter.names import ACTIONS, CELLS, DIRECTIONS, ITEMS
from proctor.suites.crafter.tasks import TaskName

ACTION = {name: number for number, name in enumerate(ACTIONS)}
CELL = {name: number for number, name in enumerate(CELLS)}
STEPS = tuple(DIRECTIONS.values())
MOVES = tuple(ACTION[name] for name in DIRECTIONS)
WALKABLE = np.isin(np.arange(len(CELLS)), [CELL[name] for name in ("grass", "path", "sand")])
TURN_CHANCE = 0.1
"""How often a wanderer changes its mind."""


@dataclass(frozen=True)
class Skill:
    """`target`: the cell to face; `action`: what to do there; `uses`: an item without which it cannot be done."""

    target: str | None
    action: str
    uses: str | None = None


SKILLS: dict[TaskName, Skill] = {
    "collect_wood": Skill("tree", "do"),
    "collect_stone": Skill("stone", "do", uses="wood_pickaxe"),
    "collect_sapling": Skill("grass", "do"),
    "collect_drink": Skill("water", "do"),
    "eat_cow": Skill("cow", "do"),
    "defeat_zombie": Skill("zombie", "do"),
    "place_table": Skill("grass", "place_table", uses="wood"),
    "place_plant": Skill("grass", "place_plant", uses="sapling"),
    "place_stone": Skill("grass", "place_stone", uses="stone"),
    "wake_up": Skill(None, "sleep"),
}


@dataclass(frozen=True)
class Seen:
    """One trial's view: `cells` (width, height), `position` in it, `facing` (dx, dy), `inventory` by `names.ITEMS`."""

    cells: np.ndarray
    position: tuple[int, int]
    facing: tuple[int, int]
    inventory: np.ndarray


def act(task: TaskName, seen: Seen, heading: int, rng: np.random.Generator) -> tuple[int, int]:
    """The action of a task's skill, and the heading (0 to 3) that it wanders in from now on."""
    skill = SKILLS[task]
    if skill.uses is not None and seen.inventory[ITEMS.index(skill.uses)] == 0:
        return ACTION["noop"], heading
    if skill.target is None or _beside(seen, seen.facing) == CELL[skill.target]:
        return ACTION[skill.action], heading
    move = first_move(seen.cells, seen.position, CELL[skill.target])
    return (move, heading) if move is not None else _wander(seen, heading, rng)


def _beside(seen: Seen, step: tuple[int, int]) -> int:
    """The cell that a step (dx, dy) of the player leads to."""
    x, y = seen.position[0] + step[0], seen.position[1] + step[1]
    width, height = seen.cells.shape
    return int(seen.cells[x, y]) if 0 <= x < width and 0 <= y < height else CELL["outside"]


def first_move(cells: np.ndarray, start: tuple[int, int], target: int) -> int | None:
    """The first move on a shortest way from `start` to a cell of kind `target`, over what can be walked on; None where
    there is no way. Of ways of equal length the one that begins left, right, up, down, in this order."""
    padded = np.zeros(np.add(cells.shape, 2), cells.dtype)
    padded[1:-1, 1:-1] = cells
    walkable, reached = WALKABLE[padded], padded == target
    beside = [(start[0] + 1 + dx, start[1] + 1 + dy) for dx, dy in STEPS]
    count = 0
    while (reaching := int(np.count_nonzero(reached))) > count:
        for spot, move in zip(beside, MOVES, strict=True):
            if reached[spot]:
                return move
        count, reached = reaching, reached | (_neighbours(reached) & walkable)
    return None


def _neighbours(cells: np.ndarray) -> np.ndarray:
    """Cells beside a true one."""
    found = np.zeros_like(cells)
    found[1:] |= cells[:-1]
    found[:-1] |= cells[1:]
    found[:, 1:] |= cells[:, :-1]
    found[:, :-1] |= cells[:, 1:]
    return found


def _wander(seen: Seen, heading: int, rng: np.random.Generator) -> tuple[int, int]:
    """On in the same direction as long as it is free, now and then in another."""
    free = [number for number, step in enumerate(STEPS) if WALKABLE[_beside(seen, step)]]
    if free and (heading not in free or rng.random() < TURN_CHANCE):
        heading = free[int(rng.integers(len(free)))]
    return (MOVES[heading] if heading in free else ACTION["noop"]), heading
