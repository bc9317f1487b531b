"""What stEVE's agents observe, on the embedded simulator: `observation: steve`.

Entries, their shapes, order and scaling are those of stEVE's observation classes, so that one agent runs on either
simulator: `tracking` (memory, points, 2), `target` (2,), `last_action` (d, 2), `rotation` (d, 2), sine and cosine,
`inserted_lengths` (d,), for d devices. Picture coordinates are scaled to [-1, 1] by the box around the centrelines, a
tenth wider. `image` (pixels, pixels) uint8 is a picture of that box (see `pictures`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from proctor.suites.endovascular.pictures import box_around, picture, widths
from proctor.suites.endovascular.rod import BEHIND
from proctor.suites.protocol import Env
from proctor_host.environments import Step

if TYPE_CHECKING:
    from proctor.suites.endovascular.env import EndovascularEnv


class AsSteve(Env):
    """The embedded environment, seen and steered as stEVE's."""

    def __init__(self, env: EndovascularEnv):
        options = env.options
        self._env, self.options, self.action_dt_s = env, options, env.action_dt_s
        shapes = {
            "tracking": (options.tracking_memory, options.tracking_points, 2),
            "target": (2,),
            "last_action": (env.devices, 2),
            "rotation": (env.devices, 2),
            "inserted_lengths": (env.devices,),
        }
        boxes: dict[str, Any] = {
            name: spaces.Box(0, 255, (options.image_px, options.image_px), np.uint8)
            if name == "image"
            else spaces.Box(-np.inf, np.inf, shapes[name], np.float32)
            for name in options.observed
        }
        self.observation_space = spaces.Dict(list(boxes.items()))
        self._limits = env.action_space.high
        high = np.ones_like(self._limits) if options.normalize_action else self._limits
        self.action_space = spaces.Box(-high, high, dtype=np.float32)

    def reset(self, seed: int, index: int) -> Any:
        first = self._env.reset(seed, index)
        centrelines = self._env.carm.project(self._env.tree.points()).astype(np.float32)
        self._low, self._high = box_around(centrelines)
        self._memory = np.repeat(self._tracking()[None], self.options.tracking_memory, axis=0)
        return self._observed(np.zeros_like(self._limits), first["target"])

    def step(self, action: Any) -> Step:
        action = np.asarray(action, np.float32).reshape(len(self._limits))
        step = self._env.step(action * self._limits if self.options.normalize_action else action)
        self._memory = np.concatenate([self._tracking()[None], self._memory[:-1]])
        told = action if self.options.normalize_action else action / self._limits
        return step._replace(observation=self._observed(told, step.observation["target"]))

    def _observed(self, told: np.ndarray, target: np.ndarray) -> dict[str, np.ndarray]:
        wire = self._env.wire
        angles, shares = wire.angles, wire.lengths / self._env.lengths_mm
        found = {
            "tracking": self._memory,
            "target": self._scaled(target),
            "last_action": told.reshape(-1, 2),
            "rotation": np.stack([np.sin(angles), np.cos(angles)], axis=1),
            "inserted_lengths": 2 * shares - 1,
        }
        return {
            name: self._image() if name == "image" else np.asarray(found[name], np.float32)
            for name in self.options.observed
        }

    def _line(self) -> np.ndarray:
        """(n, 2) the devices in the picture, from the tip to the entry, mm."""
        return self._env.carm.project(np.vstack([self._env.wire.points, self._env.tree.entry]))

    def _tracking(self) -> np.ndarray:
        options = self.options
        return self._scaled(spread(self._line(), options.tracking_points, options.tracking_resolution_mm))

    def _image(self) -> np.ndarray:
        wire, box = self._env.wire, np.stack([self._low, self._high])
        along = np.r_[wire.rod.node[: wire.free, BEHIND], wire.lengths.max()]
        return picture(self._line(), widths(along, wire.lengths, self._env.diameters_mm), box, self.options.image_px)

    def _scaled(self, places: np.ndarray) -> np.ndarray:
        return np.asarray(2 * (places - self._low) / (self._high - self._low) - 1, np.float32)

    def constants(self) -> dict[str, Any]:
        return self._env.constants()

    def render(self) -> np.ndarray:
        return self._env.render()

    def close(self) -> None:
        self._env.close()


def spread(line: np.ndarray, count: int, apart: float) -> np.ndarray:
    """`count` points along a line in the picture (n, 2), from its first on, `apart` mm of the picture; where the line
    ends, its last such point again."""
    along = np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))]
    wanted = apart * np.arange(count)
    wanted = np.minimum(wanted, apart * np.floor(along[-1] / apart))
    return np.stack([np.interp(wanted, along, line[:, axis]) for axis in range(2)], axis=1)
