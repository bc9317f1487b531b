"""A room with four corners, a goal-conditioned walker, and goal models whose answers can be worked out by hand.

The walker's position in [-1, 1]^2 is drawn as a white pixel. The encoder reads it back as (right, left, up, down,
bias), and the walker steers by such an embedding alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import yaml
from gymnasium.spaces import Box

from proctor import Batch, Policy
from proctor.suites.goals import GoalModel

HERE = Path(__file__)
CORNERS = {"north-east": (1, 1), "north-west": (-1, 1), "south-east": (1, -1), "south-west": (-1, -1)}
SIZE = 17


def drawn(position: np.ndarray) -> np.ndarray:
    """The room, uint8 (17, 17, 3), with a white pixel where the walker is."""
    frame = np.zeros((SIZE, SIZE, 3), np.uint8)
    column, row = np.rint((np.clip(position, -1, 1) + 1) / 2 * (SIZE - 1)).astype(int)
    frame[SIZE - 1 - row, column] = 255
    return frame


class Room(gymnasium.Env[Any, Any]):
    """Success: the walker is within 0.3 of the corner, along both axes."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, corner: str = "north-east", render_mode: str | None = None):
        self.observation_space = Box(-1.0, 1.0, (2,), np.float32)
        self.action_space = Box(-1.0, 1.0, (2,), np.float32)
        self.corner, self.render_mode = np.array(CORNERS[corner], float), render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.position = self.np_random.uniform(-0.3, 0.3, 2)
        return self.position.astype(np.float32), {}

    def step(self, action: Any) -> Any:
        noise = 0.02 * self.np_random.normal(size=2)
        self.position = np.clip(self.position + 0.2 * np.asarray(action, float) + noise, -1, 1)
        off = float(np.abs(self.position - self.corner).max())
        return self.position.astype(np.float32), -off, False, False, {"success": off < 0.3}

    def render(self) -> Any:
        return drawn(self.position)


if "Room-v0" not in gymnasium.registry:  # tests import this file by name, configs by path
    gymnasium.register("Room-v0", Room, max_episode_steps=12)


def features(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    parts = [np.maximum(x, 0), np.maximum(-x, 0), np.maximum(y, 0), np.maximum(-y, 0), np.full_like(x, 0.2)]
    return np.stack(parts, axis=-1).astype(np.float32)


class RoomModel(GoalModel):
    """Reads the corner from the words. `noise` makes it a sampled prior, `broken` an untrained one."""

    space, text_space = "room/pictures", "room/words"
    frame_size = (SIZE, SIZE)

    def __init__(self, noise: float = 0.0, window: int = 1, broken: bool = False, space: str = "room/pictures"):
        self.noise, self.window, self.broken, self.space = noise, window, broken, space

    def embed_goal(self, texts: list[str], rng: np.random.Generator) -> np.ndarray:
        x, y = (
            np.array([self._sign(text, *words) for text in texts]) for words in (("east", "west"), ("north", "south"))
        )
        if self.broken:
            x, y = np.full_like(x, 0.1), np.full_like(y, 0.05)
        goals = features(x, y)
        return goals + (self.noise * rng.normal(size=goals.shape)).astype(np.float32)

    def _sign(self, text: str, plus: str, minus: str) -> float:
        return float(plus in text) - float(minus in text)

    def encode_frames(self, frames: np.ndarray) -> np.ndarray:
        bright = frames[..., 0].astype(float)
        total, places = bright.sum(axis=(2, 3)), np.arange(SIZE)
        across, down = (bright.sum(axis=2) @ places) / total, (bright.sum(axis=3) @ places) / total
        half = (SIZE - 1) / 2
        return features(across / half - 1, 1 - down / half).mean(axis=1)

    def encode_text(self, texts: list[str]) -> np.ndarray:
        words = ("north", "south", "east", "west", "go")
        return np.array([[1.0 + (word in text) for word in words] for text in texts], np.float32)


class Walker(Policy):
    """Goes where the goal points. It remembers which names of tasks it has seen: none."""

    def __init__(self, goal_dim: int, speed: float = 1.0):
        assert goal_dim == 5
        self.speed = speed

    def act(self, batch: Batch) -> np.ndarray:
        assert {trial.task for trial in batch.trials} == {""}
        goal = batch.observation["goal"]
        target = np.stack([goal[:, 0] - goal[:, 1], goal[:, 2] - goal[:, 3]], axis=1)
        aim = np.sign(target) * (np.abs(target) > 0.15)
        return (self.speed * np.clip(aim - batch.observation["observation"], -1, 1)).astype(np.float32)


class Guide(Policy):
    """Knows the corner by the task's name: it collects successes."""

    def act(self, batch: Batch) -> np.ndarray:
        aims = np.array([CORNERS[trial.task] for trial in batch.trials], np.float32)
        return np.clip(aims - batch.observation, -1, 1)


def instruction(corner: str) -> dict[str, Any]:
    words = corner.replace("-", " ")
    return {"instruction": f"go to the {words}", "paraphrases": [f"walk {words}", f"find the {words} corner"]}


INSTRUCTIONS = {corner: instruction(corner) for corner in CORNERS}


def room_task(corner: str) -> dict[str, Any]:
    return {
        "suite": "gymnasium",
        "name": corner,
        "options": {"id": f"{HERE}:Room-v0", "kwargs": {"corner": corner}},
        "success_rule": "at_end",
        "max_episode_steps": 12,
    }


def walker(name: str, goals: Any = None, **options: Any) -> dict[str, Any]:
    """An agent that walks by goals: of a goal model, or (None) of what `options` say."""
    given = {} if goals is None else {"goals": goals}
    shared = {"target": f"{HERE}:Walker", "instructions": INSTRUCTIONS}
    return {"name": name, "policy": "goal", "options": {**shared, **given, **options}}


MODEL = f"{HERE}:RoomModel"


def goals_config(folder: Path, **goals: Any) -> Path:
    """A config of the rooms with these keys in its section `goals`."""
    examination = goals.pop("examination", {})
    config = {
        "name": "rooms", "agents": [{"name": "guide", "policy": f"{HERE}:Guide"}],
        "tasks": [room_task(corner) for corner in CORNERS], "n_trials": 4, "workers": "inline", "scoring": "success",
        "output_root": str(folder / "runs"), **examination,
        "goals": {"model": MODEL, "visuals_folder": str(folder / "visuals"), "instructions": INSTRUCTIONS, **goals},
    }  # fmt: skip
    path = folder / "goals.yml"
    path.write_text(yaml.safe_dump(config))
    return path
