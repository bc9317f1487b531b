"""Crafter, made reproducible.

Stock Crafter iterates its creatures from sets of objects, whose order is that of memory addresses; it seeds a world
with the number of episodes that its environment has seen; and it draws the noise of a dark picture from the world's
generator, so that looking changes what happens. Here creatures keep the order in which they came, every world is the
first of its seed, and a picture takes nothing from the world. How a world is made, and its rules, are stock Crafter's.
"""

from __future__ import annotations

import collections
import copy
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from proctor.errors import optional
from proctor.suites.crafter.names import TILES

REMEMBERED_WORLDS = 64
"""Making a world takes as long as a hundred steps; those of the last seeds are kept for the next agent."""
CHUNK = (12, 12)


def import_crafter() -> Any:
    """The package."""
    return optional("crafter", "the crafter suite", "crafter")


class OrderedSet(dict[Any, None]):
    """What Crafter asks of a set, in order of insertion."""

    def add(self, member: Any) -> None:
        self[member] = None

    remove = dict.__delitem__


@dataclass(frozen=True)
class Landscape:
    """A world as it was made: material of every cell, (class, position) of every creature in order, and the state of
    the generator that goes on from there."""

    materials: np.ndarray
    creatures: tuple[tuple[Any, tuple[int, int]], ...]
    random_state: Any


@functools.lru_cache(maxsize=REMEMBERED_WORLDS)
def landscape(area: int, seed: int) -> Landscape:
    """The first world that stock Crafter makes for a seed."""
    crafter = import_crafter()
    world = crafter.engine.World((area, area), crafter.constants.materials, CHUNK)
    world.reset(seed=hash((seed, 1)) % (2**31 - 1))
    player = crafter.objects.Player(world, (area // 2, area // 2))
    world.add(player)
    crafter.worldgen.generate_world(world, player)
    creatures = tuple((type(o), (int(o.pos[0]), int(o.pos[1]))) for o in world.objects if o is not player)
    return Landscape(world._mat_map, creatures, world.random.get_state())


@functools.lru_cache(maxsize=8)
def _template(area: int, size: int) -> Any:
    return import_crafter().Env(area=(area, area), view=(TILES, TILES), size=(size, size), length=None, seed=0)


def _new_env(area: int, size: int) -> Any:
    """An environment of its own, but for the textures: reading them takes as long as twenty steps."""
    template = _template(area, size)
    return copy.deepcopy(template, {id(template._textures): template._textures})


class Simulator:
    """One world of Crafter with its player. `area`: side of the world in cells; `size`: of a picture in pixels."""

    map: np.ndarray
    """uint8 (area, area), indexed [x, y]: numbers of `names.CELLS`. A new one at every step."""

    def __init__(self, area: int, size: int):
        self._crafter = import_crafter()
        self._area = area
        self._env = _new_env(area, size)
        self._env._obs = lambda: None
        self._noise, self._seed = np.random.RandomState(), 0

    @property
    def player(self) -> Any:
        return self._env._player

    def reset(self, seed: int, start: Mapping[str, int]) -> None:
        """A new world with the player in its middle, who owns what `start` says."""
        env, made = self._env, landscape(self._area, seed)
        world = env._world
        world.reset()
        world._chunks = collections.defaultdict(OrderedSet)
        world._mat_map[:] = made.materials
        player = self._crafter.objects.Player(world, (self._area // 2, self._area // 2))
        player.inventory.update(start)
        player._last_health = player.health
        world.add(player)
        for kind, position in made.creatures:
            lonely = kind is self._crafter.objects.Cow
            world.add(kind(world, position) if lonely else kind(world, position, player))
        world.random.set_state(made.random_state)
        env._step, env._player, env._last_health, env._unlocked = 0, player, player.health, set()
        env._update_time()
        self._seed = seed
        self.map = env._sem_view()

    def step(self, action: int) -> None:
        _, _, _, info = self._env.step(action)
        self.map = info["semantic"]

    def image(self) -> np.ndarray:
        """What the player sees, uint8 (size, size, 3). The noise of the dark is drawn from the seed and the step."""
        world = self._env._world
        self._noise.seed((self._seed % 2**32, self._env._step))
        world_random, world.random = world.random, self._noise
        try:
            return self._env.render()
        finally:
            world.random = world_random
