"""The toy of `toys.py`, N of them as an environment that speaks in columns. Workers import this file by its path."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box, Dict

from proctor.registry import import_object
from proctor.suites.protocol import ColumnEnv, Columns, Suite, SuiteOptions

TOYS = Path(__file__).with_name("toys.py")


class ColumnOptions(SuiteOptions):
    keys: bool = False
    """Observe a dict."""
    signals: bool = False
    partial: bool = True
    seeds: tuple[int, ...] = ()
    trouble: str = ""
    """What the trials of these seeds do in their third step: nan_reward; as they begin: reset; or, to all: raise,
    shape, dtype, rows, signal."""


class ColumnToys(ColumnEnv):
    max_steps = 30

    def __init__(self, options: ColumnOptions, worlds: int):
        toy = import_object(f"{TOYS}:Toy")
        inner = options.trouble if options.trouble in ("nan_reward", "reset") else ""
        self._toys = [toy(trouble=inner, seeds=options.seeds) for _ in range(worlds)]
        self._options, self.num_worlds, self.partial_reset = options, worlds, options.partial
        one = Box(-np.inf, np.inf, (6,), np.float32)
        self.observation_space = Dict({"state": one}) if options.keys else one
        self.action_space = Box(-1.0, 1.0, (2,), np.float32)

    def reset(self, worlds: Sequence[int], seeds: Sequence[int], indices: Sequence[int]) -> list[Any]:
        first = [self._toys[w].reset(seed=seed)[0] for w, seed in zip(worlds, seeds, strict=True)]
        return [{"state": x} for x in first] if self._options.keys else first

    def step_columns(self, worlds: np.ndarray | None, actions: np.ndarray) -> Columns:
        order = range(self.num_worlds) if worlds is None else worlds.tolist()
        steps = [self._toys[w].step(action) for w, action in zip(order, actions, strict=True)]
        seen, reward, terminated, truncated, infos = zip(*steps, strict=True)
        state = self._troubled(np.array(seen), [self._toys[w] for w in order])
        strange = self._options.trouble if any(self._toys[w].bad and self._toys[w].age == 3 for w in order) else ""
        if strange == "signal":
            infos = [{**info, "x": info["x"][:2]} for info in infos]
        return Columns(
            {"state": state} if self._options.keys else state,
            np.array(reward)[: -1 if strange == "rows" else None],
            np.array(terminated),
            np.array(truncated),
            np.array([info["success"] for info in infos]),
            {"x": np.array([info["x"] for info in infos])} if self._options.signals else {},
        )

    def _troubled(self, state: np.ndarray, toys: list[Any]) -> np.ndarray:
        if any(toy.bad and toy.age == 3 for toy in toys):
            if self._options.trouble == "raise":
                raise RuntimeError("the simulator diverged")
            if self._options.trouble == "shape":
                return state[:, :5]
            if self._options.trouble == "dtype":
                return state.astype(np.float64)
        return state


class ColumnSuite(Suite):
    name: ClassVar[str] = "columns"
    Options: ClassVar[type[SuiteOptions]] = ColumnOptions

    def task_name(self, options: ColumnOptions) -> str:
        return "toy"

    def is_batch(self, options: ColumnOptions) -> bool:
        return True

    def make(self, options: ColumnOptions, *, render: bool, worlds: int) -> ColumnToys:
        return ColumnToys(options, worlds)
