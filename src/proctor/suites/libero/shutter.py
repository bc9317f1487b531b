"""A shutter over the cameras of a robosuite environment: closed, they draw nothing.

robosuite takes a frame of each camera in every control step, at a moment that its sampling decides, whether anybody
looks or not. The shutter stands between: while it is closed a camera gives black, which costs nothing, and the moments
at which frames are taken stay as they are.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


class Shutter:
    """`is_open`: whether frames are drawn. Flags of the scene are set where an effect is switched off."""

    def __init__(self, cameras: Sequence[str], side: int, shadows: bool, reflections: bool):
        self._cameras, self._black = tuple(cameras), np.zeros((side, side, 3), np.uint8)
        self._off = [name for name, on in (("SHADOW", shadows), ("REFLECTION", reflections)) if not on]
        self.is_open = False

    def mount(self, env: Any) -> None:
        """Put the shutter over the cameras of a robosuite environment; after each reset, which makes new ones."""
        self.is_open = False
        for camera in self._cameras:
            observable = env._observables[f"{camera}_image"]
            observable.set_sensor(self._over(observable._sensor))
        if self._off:
            flags = importlib.import_module("mujoco").mjtRndFlag
            for name in self._off:
                env.sim._render_context_offscreen.scn.flags[getattr(flags, f"mjRND_{name}")] = 0

    def _over(self, camera: Callable[[Any], np.ndarray]) -> Callable[[Any], np.ndarray]:
        def frame(cache: Any) -> np.ndarray:
            return camera(cache) if self.is_open else self._black

        return importlib.import_module("robosuite.utils.observables").sensor(modality="image")(frame)
