"""A task of Meta-World as an environment.

Action: (x, y, z, gripper) in [-1, 1]; 1 moves the hand's target by a centimetre, and closes the gripper. A step is
12.5 ms. The world itself is deterministic: a trial is its variation, and the seed of a trial decides nothing here.

Observations: the vector of Meta-World (39,), or with images a dict

- `image/CAMERA`: uint8 (height, width, 3), drawn only for steps whose observation is looked at;
- `state`: float32 (4,), the hand's position in m and how far the gripper is open (0 to 1);
- `instruction`: uint8 (64,), the instruction as UTF-8 bytes, zeros behind (`proctor.texts`);
- `privileged`, where asked for: the vector of 39 numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from proctor.suites.metaworld.options import MetaworldOptions
from proctor.suites.metaworld.tasks import INSTRUCTIONS, TEXT_BYTES
from proctor.suites.metaworld.worlds import make_world, set_variation, variations
from proctor.suites.offscreen import Effects, Size, Viewer
from proctor.suites.protocol import Env, Step
from proctor.texts import text_to_bytes

FULL, PROPRIO = 39, 4
UPSIDE_DOWN = frozenset({"corner", "corner2", "corner3"})
MAX_STEPS = 500


class MetaworldEnv(Env):
    """One robot arm at one table."""

    max_steps = MAX_STEPS
    skips_observations = True

    def __init__(self, options: MetaworldOptions):
        self.options = options
        self.instruction = INSTRUCTIONS[options.task]
        self._vectors = variations(options.task, options.variation_seed, options.variations)
        self._world = make_world(options.task)
        self._images = options.observation == "images"
        self._size: Size = (options.image_height, options.image_width)
        self._video_size: Size = (options.video_height, options.video_width)
        effects = Effects(options.shadows, options.reflections, options.samples)
        largest = max(self._size[0], self._video_size[0]), max(self._size[1], self._video_size[1])
        self._viewer = Viewer(self._world.model, self._world.data, largest, effects)
        self._frames: dict[tuple[str, Size], np.ndarray] = {}
        self._text = text_to_bytes(self.instruction, TEXT_BYTES)
        self._vector = np.zeros(FULL)
        self.variation = 0
        self.action_dt_s = float(self._world.dt)
        self.action_space = spaces.Box(-1.0, 1.0, (4,), np.float32)
        self.observation_space = _observation_space(options)

    def reset(self, seed: int, index: int) -> Any:
        """Start with variation `index` modulo their number."""
        self.variation = index % len(self._vectors)
        vector = self._vectors[self.variation]
        set_variation(self._world, self.options.task, vector, self.options.goal_observable)
        self._frames.clear()
        self._vector, _ = self._world.reset()
        return self._observation()

    def step(self, action: Any) -> Step:
        return self.step_unseen(action)._replace(observation=self._observation())

    def step_unseen(self, action: Any) -> Step:
        self._frames.clear()
        self._vector, reward, _, _, info = self._world.step(np.asarray(action, np.float32))
        if not np.isfinite(self._vector).all():
            raise FloatingPointError("the simulation diverged: the observation is not finite")
        signals = {
            "hand_pos": self._vector[:3].copy(),
            "gripper_opening": float(self._vector[3]),
            "target_distance_m": float(info["obj_to_target"]),
        }
        return Step(None, float(reward), False, False, bool(info["success"]), signals)

    def constants(self) -> Mapping[str, Any]:
        """`variation`: which one; `instruction`: the text."""
        return {"variation": self.variation, "instruction": self.instruction}

    def render(self) -> np.ndarray:
        """The view of the video camera."""
        return self._frame(self.options.video_camera, self._video_size)

    def close(self) -> None:
        self._viewer.close()
        self._world.close()

    def _observation(self) -> Any:
        if not self._images:
            return self._vector.copy()
        views = {f"image/{camera}": self._frame(camera, self._size) for camera in self.options.cameras}
        known = {"state": self._vector[:PROPRIO].astype(np.float32), "instruction": self._text.copy()}
        privileged = {"privileged": self._vector.copy()} if self.options.privileged else {}
        return {**views, **known, **privileged}

    def _frame(self, camera: str, size: Size) -> np.ndarray:
        """A frame of this step; drawn once, whoever asks."""
        key = camera, size
        if key not in self._frames:
            frame = self._viewer.draw(camera, size)
            turned = self.options.upright and camera in UPSIDE_DOWN
            self._frames[key] = np.ascontiguousarray(frame[::-1, ::-1]) if turned else frame
        return self._frames[key]


def _observation_space(options: MetaworldOptions) -> spaces.Space[Any]:
    full = spaces.Box(-np.inf, np.inf, (FULL,), np.float64)
    if options.observation == "state":
        return full
    shape = (options.image_height, options.image_width, 3)
    entries: list[tuple[str, spaces.Space[Any]]] = [
        (f"image/{camera}", spaces.Box(0, 255, shape, np.uint8)) for camera in options.cameras
    ]
    entries.append(("state", spaces.Box(-np.inf, np.inf, (PROPRIO,), np.float32)))
    entries.append(("instruction", spaces.Box(0, 255, (TEXT_BYTES,), np.uint8)))
    return spaces.Dict([*entries, ("privileged", full)] if options.privileged else entries)
