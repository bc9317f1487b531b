"""The toy of `toys.py` as an environment that writes rows. Workers import this file by its path."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box, Dict

from proctor.registry import import_object
from proctor.suites.protocol import SheetEnv, Suite, SuiteOptions
from proctor_host.sheet import HEAD, Sheet

TOYS = Path(__file__).with_name("toys.py")


class RowOptions(SuiteOptions):
    nested: bool = False
    """Observe a dict in a dict, and the age."""
    signals: bool = False
    seeds: tuple[int, ...] = ()
    trouble: str = ""
    """As of the toy; or `sheet`: its rows are not what it observes."""
    nap_s: float = 0.0


class RowToy(SheetEnv):
    max_steps = 30

    def __init__(self, options: RowOptions):
        toy = import_object(f"{TOYS}:Toy")
        self._toy = toy(trouble=options.trouble, seeds=options.seeds, nap_s=options.nap_s)
        self._options = options
        state, age = Box(-np.inf, np.inf, (6,), np.float32), Box(0, 255, (), np.uint8)
        self.observation_space = Dict({"state": state, "told": Dict({"age": age})}) if options.nested else state
        self.action_space = Box(-1.0, 1.0, (2,), np.float32)
        told = np.int16 if options.trouble == "sheet" else np.uint8
        seen: dict[Any, Any] = {("state",): ((6,), np.float32), ("told", "age"): ((), told)}
        said: dict[str, Any] = {"age": ((), np.int64), "x": ((6,), np.float64), "half": ((2, 3), np.float32)}
        self.sheet = Sheet(seen if options.nested else {(): ((6,), np.float32)}, said if options.signals else {})

    def reset(self, seed: int, index: int) -> Any:
        x, _ = self._toy.reset(seed=seed)
        return {"state": x, "told": {"age": np.zeros((), np.uint8)}} if self._options.nested else x

    def write(self, action: Any, row: np.ndarray) -> None:
        assert not row.any()
        row[:] = np.nan  # what is written before a step breaks is nobody's
        x, reward, terminated, truncated, info = self._toy.step(action)
        age = [self._toy.age]
        seen = [*x, *age] if self._options.nested else x
        said = [*age, *info["x"], *(info["x"] / 2)] if self._options.signals else []
        row[:] = [reward, terminated, truncated, info["success"], *seen, *said]
        assert len(row) == HEAD + len(seen) + len(said)


class RowSuite(Suite):
    name: ClassVar[str] = "rows"
    Options: ClassVar[type[SuiteOptions]] = RowOptions

    def task_name(self, options: RowOptions) -> str:
        return "toy"

    def make(self, options: RowOptions, *, render: bool, worlds: int) -> RowToy:
        return RowToy(options)
