"""A task of Crafter as an environment.

Actions are Crafter's 17 (`names.ACTIONS`). An episode ends when the task's achievement is unlocked, which is success,
or when the player dies.

Reward: 1 for the task's achievement, 0.1 for each point of health gained, -0.1 for each lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from proctor.suites.crafter.names import ACHIEVEMENTS, ACTIONS, CELLS, ITEMS, MOST_OF_AN_ITEM
from proctor.suites.crafter.simulator import Simulator
from proctor.suites.crafter.tasks import told
from proctor_host import spaces
from proctor_host.environments import Env, Step

if TYPE_CHECKING:
    from proctor.suites.crafter.suite import CrafterOptions

LOCAL = (9, 7)
"""Cells of the player's view, x and y; the player stands in the middle."""
ENLARGED = 4
"""A rendered frame is the picture with every pixel drawn so many times as wide and high."""
MOST_STEPS = 200
REWARD_HEALTH = 0.1


class CrafterEnv(Env):
    """One player in one world."""

    max_steps = MOST_STEPS
    skips_observations = True

    def __init__(self, options: CrafterOptions):
        self.options = options
        self._simulator = Simulator(options.area, options.image_size)
        self.observation_space = observation_space_of(options)
        self.action_space = spaces.Discrete(len(ACTIONS))

    def reset(self, seed: int, index: int) -> Any:
        """The seed makes the world and decides what its creatures do."""
        self._simulator.reset(seed, self.options.start)
        self._health = int(self._simulator.player.health)
        return self._observation()

    def step(self, action: Any) -> Step:
        return self.step_unseen(action)._replace(observation=self._observation())

    def step_unseen(self, action: Any) -> Step:
        self._simulator.step(int(action))
        player = self._simulator.player
        success = player.achievements[self.options.task] > 0
        health, before = int(player.health), self._health
        self._health = health
        reward = float(success) + REWARD_HEALTH * (health - before)
        return Step(None, reward, success or health <= 0, False, success, self._signals())

    def _signals(self) -> dict[str, Any]:
        player = self._simulator.player
        return {
            "health": float(player.health),
            "inventory": np.array([player.inventory[name] for name in ITEMS], np.int16),
            "achievements": np.array([player.achievements[name] for name in ACHIEVEMENTS], np.int16),
            "position": np.array(player.pos, np.int16),
            "sleeping": float(player.sleeping),
        }

    def constants(self) -> dict[str, Any]:
        """`instruction`: what the agent was told; `achievement`: what success is."""
        return {"instruction": np.array(told(self.options)), "achievement": np.array(self.options.task)}

    def dummy_action(self) -> int:
        return ACTIONS.index("noop")

    def _observation(self) -> dict[str, Any]:
        player, whole = self._simulator.player, self._simulator.map
        found: dict[str, Any] = {
            "local": _around(whole, player.pos),
            "inventory": np.array([player.inventory[name] for name in ITEMS], np.uint8),
            "facing": np.array(player.facing, np.int8),
            "sleeping": np.array([player.sleeping], np.uint8),
        }
        if self.options.image:
            found["image"] = self._simulator.image()
        if self.options.privileged:
            found["privileged"] = {"map": whole, "position": np.array(player.pos, np.int16)}
        return found

    def render(self) -> np.ndarray:
        """The picture, four times as wide and high."""
        return self._simulator.image().repeat(ENLARGED, axis=0).repeat(ENLARGED, axis=1)


def _around(whole: np.ndarray, position: np.ndarray) -> np.ndarray:
    """The cells in view, uint8 (9, 7); 0 where the world has ended."""
    (width, height), (x, y) = LOCAL, position
    padded = np.pad(whole, ((width // 2, width // 2), (height // 2, height // 2)))
    return padded[x : x + width, y : y + height]


def observation_space_of(options: CrafterOptions) -> spaces.Dict:
    def cells(*shape: int) -> spaces.Box:
        return spaces.Box(0, len(CELLS) - 1, shape, np.uint8)

    groups: dict[str, spaces.Space] = {
        "local": cells(*LOCAL),
        "inventory": spaces.Box(0, MOST_OF_AN_ITEM, (len(ITEMS),), np.uint8),
        "facing": spaces.Box(-1, 1, (2,), np.int8),
        "sleeping": spaces.Box(0, 1, (1,), np.uint8),
    }
    if options.image:
        groups["image"] = spaces.Box(0, 255, (options.image_size, options.image_size, 3), np.uint8)
    if options.privileged:
        area = options.area
        groups["privileged"] = spaces.Dict(
            {"map": cells(area, area), "position": spaces.Box(0, area - 1, (2,), np.int16)}
        )
    return spaces.Dict(dict(sorted(groups.items())))


def make(options: CrafterOptions, *, render: bool, worlds: int) -> Env:
    """The environment of a task."""
    return CrafterEnv(options)
