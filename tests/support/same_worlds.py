"""One world in all six kinds of environment: its steps are the same, so its records must be.

Workers import this file by its path, those of other interpreters, too: it needs numpy and `proctor_host`, and Gymnasium
for a vector of worlds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from proctor_host import spaces
from proctor_host.arrays import placed, to_host
from proctor_host.environments import BatchEnv, ColumnEnv, Columns, DeviceEnv, Env, SheetEnv, Step
from proctor_host.extras import Options
from proctor_host.sheet import Sheet

SEEN = spaces.Dict({"age": spaces.Box(0, 255, (), np.uint8), "state": spaces.Box(-np.inf, np.inf, (4,), np.float32)})
DONE = spaces.Box(-1.0, 1.0, (2,), np.float32)
KINDS: Any = {"energy": ((), np.float32), "force": ((3,), np.float64), "count": ((), np.int64)}


class World:
    """Noisy dynamics; the seed decides start, noise and length. Signals: a float32 scalar, an array and a count. `odd`
    says which field of its third step has an odd value, and which."""

    odd: ClassVar[tuple[str, Any]] = ("", None)

    def reset(self, seed: int) -> dict[str, np.ndarray]:
        self.rng = np.random.default_rng(seed)
        self.x = self.rng.random(4).astype(np.float32)
        self.left, self.age = 6 + int(8 * self.rng.random()), 0
        return self.seen()

    def seen(self) -> dict[str, np.ndarray]:
        return {"age": np.array(self.age, np.uint8), "state": self.x.copy()}

    def step(self, action: np.ndarray) -> Step:
        self.age += 1
        push = np.resize(action, 4).astype(np.float32)
        action[...] = 9.0  # what an environment does to its action is not recorded
        moved = self.x * np.float32(1.1) + push + self.rng.random(4).astype(np.float32) - np.float32(0.5)
        self.x = np.clip(moved, np.float32(-1), np.float32(1))  # the same numbers in every version of numpy
        signals = {
            "energy": np.float32((self.x**2).sum()),
            "force": self.x[:3].astype(np.float64) * 3.0,
            "count": np.int64(self.age),
        }
        step = Step(self.seen(), float(self.x.sum()), self.age >= self.left, False, bool(self.x[0] > 0), signals)
        name, value = self.odd
        if self.age != 3 or not name:
            return step
        if name == "state":
            return step._replace(observation={**step.observation, "state": np.full(4, value, np.float32)})
        return step._replace(**{name: value})

    def frame(self) -> np.ndarray:
        return np.full((16, 16, 3), self.age * 9 % 256, np.uint8)


class One(Env):
    observation_space, action_space, max_steps = SEEN, DONE, 12

    def __init__(self) -> None:
        self.world = World()

    def reset(self, seed: int, index: int) -> Any:
        return self.world.reset(seed)

    def step(self, action: Any) -> Step:
        return self.world.step(action)

    def render(self) -> np.ndarray:
        return self.world.frame()


class Rows(SheetEnv, One):
    sheet = Sheet({("age",): ((), np.uint8), ("state",): ((4,), np.float32)}, KINDS)
    step = SheetEnv.step

    def write(self, action: Any, row: np.ndarray) -> None:
        observation, reward, terminated, truncated, success, signals = self.world.step(action)
        row[:4] = reward, terminated, truncated, success
        for path, cells in self.sheet.observation.items():
            row[cells.at] = np.ravel(observation[path[0]])
        for name, cells in self.sheet.signals.items():
            row[cells.at] = np.ravel(signals[name])


class Batch(BatchEnv):
    observation_space, action_space, max_steps = SEEN, DONE, 12

    def __init__(self, worlds: int):
        self.num_worlds, self.worlds = worlds, [World() for _ in range(worlds)]

    def reset(self, worlds: Sequence[int], seeds: Sequence[int], indices: Sequence[int]) -> list[Any]:
        return [self.worlds[world].reset(seed) for world, seed in zip(worlds, seeds)]

    def step(self, actions: Mapping[int, Any]) -> dict[int, Step]:
        return {world: self.worlds[world].step(action) for world, action in actions.items()}

    def render(self, world: int) -> np.ndarray:
        return self.worlds[world].frame()


class InColumns(ColumnEnv, Batch):
    step = ColumnEnv.step

    def step_columns(self, worlds: np.ndarray | None, actions: np.ndarray) -> Columns:
        order = range(self.num_worlds) if worlds is None else worlds.tolist()
        steps = [self.worlds[world].step(action) for world, action in zip(order, actions)]
        seen = {name: np.array([step.observation[name] for step in steps]) for name in ("age", "state")}
        signals = {name: np.array([step.signals[name] for step in steps]) for name in KINDS}
        flags = (np.array([step[i] for step in steps]) for i in range(1, 5))
        return Columns(seen, *flags, signals)


class OnDevice(DeviceEnv, Batch):
    """On the processor: tensors where torch is in use, else arrays of numpy. The memory is the same at every step."""

    device, exact = "cpu", True
    step, reset = DeviceEnv.step, DeviceEnv.reset

    def __init__(self, worlds: int):
        super().__init__(worlds)
        for world in self.worlds:
            world.reset(0)

    def begin_device(self, worlds: np.ndarray, seeds: Sequence[int], indices: Sequence[int]) -> Any:
        for world, seed in zip(worlds.tolist(), seeds):
            self.worlds[world].reset(seed)
        return self.seen([world.seen() for world in self.worlds])

    def seen(self, shown: Sequence[Mapping[str, np.ndarray]]) -> Any:
        return {name: placed(np.array([one[name] for one in shown]), "cpu") for name in ("age", "state")}

    def step_device(self, actions: Any) -> Columns:
        rows = np.array(to_host(actions))
        steps = [world.step(row) for world, row in zip(self.worlds, rows)]
        flags = (placed(np.array([step[i] for step in steps]), "cpu") for i in range(1, 5))
        signals = {name: placed(np.array([step.signals[name] for step in steps]), "cpu") for name in KINDS}
        return Columns(self.seen([step.observation for step in steps]), *flags, signals)


def make(options: Any, *, render: bool, worlds: int) -> Env | BatchEnv:
    """The environment of the suite in `many_worlds.py`."""
    field, _, value = options.odd.partition("=")
    World.odd = (field, eval(value, {"np": np, "nan": np.nan, "inf": np.inf}) if value else None)
    if options.kind == "vector":
        return vector_of(worlds)
    if options.kind in ("env", "rows"):
        return One() if options.kind == "env" else Rows()
    if options.kind == "device":
        return OnDevice(worlds)
    return Batch(worlds) if options.kind == "batch" else InColumns(worlds)


def vector_of(worlds: int) -> BatchEnv:
    import gymnasium
    from gymnasium.vector import SyncVectorEnv

    from proctor.suites.autoreset import HAS_MODES, AutoresetMode
    from proctor.suites.gymnasium.vector import VectorEnvAdapter

    class Classic(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Dict(
            {
                "age": gymnasium.spaces.Box(0, 255, (), np.uint8),
                "state": gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float32),
            }
        )
        action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)
        metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"]}  # type: ignore[misc]

        def __init__(self) -> None:
            self.world, self.render_mode = World(), "rgb_array"

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return self.world.reset(seed or 0), {}

        def step(self, action: Any) -> Any:
            observation, reward, terminated, truncated, success, signals = self.world.step(action)
            self.energy, self.force, self.count = signals["energy"], signals["force"], signals["count"]
            return observation, reward, terminated, truncated, {"success": success}

        def render(self) -> np.ndarray:  # type: ignore[override]
            return self.world.frame()

    mode: Any = {"autoreset_mode": AutoresetMode.DISABLED} if HAS_MODES else {}
    vector = SyncVectorEnv([Classic] * worlds, **mode)
    signals = {name: f"env.{name}" for name in KINDS}  # infos lose their dtype in a vector environment
    told: Any = Options(
        id="vector", signals=signals, vector=Options(mode="sync", seeding="each", kwargs={}), success=None,
        action_dt_s=None, initial_states=None, reset_options={},
    )  # fmt: skip
    return VectorEnvAdapter(vector, options=told, max_steps=12, owned=True)
