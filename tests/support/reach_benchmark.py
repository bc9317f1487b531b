"""Benchmarks for vla-eval, of ours: a point in a square that is to reach a target, seen by two cameras.

Derived from the package's own classes, as anybody's would be. `Reach` is plain; the others are odd in one way each.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import numpy as np
from vla_eval.benchmarks.base import Benchmark, StepBenchmark, StepResult
from vla_eval.specs import IMAGE_RGB, LANGUAGE, RAW, DimSpec

SIDE, WRIST, SPEED, NEAR = 32, 16, 0.1, 0.15
COLOURS = {"red": (220, 30, 30), "blue": (30, 30, 220), "green": (30, 200, 30)}


class Reach(StepBenchmark):
    """Actions (2,) in [-1, 1] move the point. Episode i of a task starts where `seed + i` says."""

    render_backends: ClassVar[frozenset[str]] = frozenset({"gpu", "cpu"})

    def __init__(self, seed: int = 0, max_steps: int = 40, send_state: bool = True, episodes: int | None = None):
        super().__init__()
        self.seed, self.max_steps, self.send_state, self.episodes = seed, max_steps, send_state, episodes
        self.point = self.target = np.zeros(2)
        self.cleaned = 0

    def get_tasks(self) -> list[dict[str, Any]]:
        return [
            {"name": f"reach the {colour} dot", "suite": "primary" if colour != "green" else "other", "colour": colour}
            for colour in COLOURS
        ]

    def reset(self, task: dict[str, Any]) -> Any:
        if self.episodes is not None and task["episode_idx"] >= self.episodes:
            raise IndexError(f"there is no episode {task['episode_idx']}")
        rng = np.random.default_rng([self.seed, task["episode_idx"], sorted(COLOURS).index(task["colour"])])
        self.point, self.target = rng.uniform(-0.9, 0.9, (2, 2))
        self._recorder.record_video(None)
        return self.point

    def step(self, action: dict[str, Any]) -> StepResult:
        given = action["actions"]
        assert given.dtype == np.float32, given.dtype
        assert given.shape == (2,), given.shape
        self.point = np.clip(self.point + SPEED * np.clip(given, -1, 1), -1, 1)
        self._recorder.record_step(reward=0.0)
        distance = self.distance()
        return StepResult(self.point, -distance, distance < NEAR, {})

    def distance(self) -> float:
        return float(np.linalg.norm(self.point - self.target))

    def make_obs(self, raw_obs: Any, task: dict[str, Any]) -> dict[str, Any]:
        front = picture(SIDE, self.point, self.target, COLOURS[task["colour"]])
        said = {"images": {"front": front, "wrist": front[:WRIST, :WRIST]}, "task_description": task["name"]}
        return {**said, "states": np.concatenate([self.point, self.target])} if self.send_state else said

    def get_step_result(self, step_result: StepResult) -> dict[str, Any]:
        return {"success": self.distance() < NEAR, "distance": self.distance()}

    def get_metric_keys(self) -> dict[str, str]:
        return {"success": "mean", "distance": "mean"}

    def get_metadata(self) -> dict[str, Any]:
        return {"max_steps": self.max_steps, **({"max_episodes_per_task": self.episodes} if self.episodes else {})}

    def get_action_spec(self) -> dict[str, DimSpec]:
        return {"x": DimSpec("x", 1, "delta", (-1, 1)), "y": DimSpec("y", 1, "delta", (-1, 1))}

    def get_observation_spec(self) -> dict[str, DimSpec]:
        return {"front": IMAGE_RGB, "language": LANGUAGE}

    def cleanup(self) -> None:
        self.cleaned += 1


def picture(side: int, point: np.ndarray, target: np.ndarray, colour: tuple[int, int, int]) -> np.ndarray:
    """Seen from above: the target as a square of its colour, the point as a white one."""
    image = np.full((side, side, 3), 40, np.uint8)
    for place, shade in ((target, colour), (point, (255, 255, 255))):
        row, column = ((place + 1) / 2 * (side - 3)).round().astype(int)
        image[row : row + 3, column : column + 3] = shade
    return image


class Silent(Reach):
    """Says nothing of its actions or its length."""

    def get_action_spec(self) -> dict[str, DimSpec]:
        raise NotImplementedError

    def get_metadata(self) -> dict[str, Any]:
        return {}


class Sized(Reach):
    """Says how many numbers, not within which bounds."""

    def get_action_spec(self) -> dict[str, DimSpec]:
        return {"action": RAW}

    def get_metadata(self) -> dict[str, Any]:
        return {"action_dim": 2, "max_steps": 5}


class Drawing(Reach):
    """Starts where the global generator of numpy says."""

    def reset(self, task: dict[str, Any]) -> Any:
        self.point, self.target = np.random.uniform(-0.9, 0.9, (2, 2))  # noqa: NPY002 - as others do
        return self.point


class Restarting(Reach):
    """A flag that is there only when it is true; pictures that are not there when the episode is over; a history of
    no fixed length."""

    def make_obs(self, raw_obs: Any, task: dict[str, Any]) -> dict[str, Any]:
        said = super().make_obs(raw_obs, task)
        steps = round(float(np.sum(np.abs(self.point))), 3)
        said["history"] = [said["states"]] * (1 + int(10 * steps))
        if self._last_result.done:
            said["images"] = {}
        if self._last_result.reward == 0.0:
            said["episode_restart"] = True
        return said


class Breaking(Reach):
    """Raises in a step; makes an observation of another shape in another; gives odd answers in the third."""

    def __init__(self, how: str):
        super().__init__()
        self.how = how

    def step(self, action: dict[str, Any]) -> StepResult:
        if self.how == "raises":
            raise RuntimeError("the gripper fell off")
        return super().step(action)

    def make_obs(self, raw_obs: Any, task: dict[str, Any]) -> dict[str, Any]:
        said = super().make_obs(raw_obs, task)
        moved = self._last_result.reward != 0.0
        if self.how == "shape" and moved:
            said["states"] = np.zeros(5)
        if self.how == "lacks" and moved:
            del said["states"]
        if self.how == "none":
            said["states"] = None
        return said

    def get_step_result(self, step_result: StepResult) -> dict[str, Any]:
        return {"success": "yes"} if self.how == "text" else super().get_step_result(step_result)


class Carrying(Reach):
    """Keeps the place of its point over a reset."""

    started = False

    def reset(self, task: dict[str, Any]) -> Any:
        before = self.point
        super().reset(task)
        self.point = before if self.started else self.point
        self.started = True
        return self.point


class Slow(Benchmark):
    """Of the asynchronous class itself: every call waits for something. It has no reward."""

    def __init__(self) -> None:
        self.left = 0

    def get_tasks(self) -> list[dict[str, Any]]:
        return [{"name": "wait", "suite": "slow"}]

    async def start_episode(self, task: dict[str, Any], recorder: Any = None) -> None:
        assert recorder is not None
        await asyncio.sleep(0.001)
        self.left = 3

    async def apply_action(self, action: dict[str, Any]) -> None:
        await asyncio.sleep(0.001)
        self.left -= 1

    async def get_observation(self) -> dict[str, Any]:
        await asyncio.sleep(0.001)
        return {"left": self.left}

    async def is_done(self) -> bool:
        return self.left == 0

    async def get_time(self) -> float:
        return 0.0

    async def get_result(self) -> dict[str, Any]:
        return {"success": True}

    def get_action_spec(self) -> dict[str, DimSpec]:
        return {"nothing": DimSpec("nothing", 1, "raw", (0, 1))}
