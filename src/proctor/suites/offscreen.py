"""Pictures of a MuJoCo simulation through its named cameras, without a screen.

A `Viewer` draws what the simulation's data shows at the moment, nothing more: it neither steps nor computes. One
graphics context serves all its cameras and sizes; it is made with the first frame.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from proctor.errors import InputError, ProctorError
from proctor.rendering import offscreen_backend

Size = tuple[int, int]
"""Height and width in pixels."""


class RenderingUnavailable(ProctorError):
    """No frame can be drawn on this machine."""


def graphics_context(size: Size) -> Any:
    """A context by `MUJOCO_GL`, else by what the machine has (see `proctor.rendering`). Raises RenderingUnavailable."""
    backend = os.environ.get("MUJOCO_GL", "").lower().strip() or offscreen_backend(os.environ) or ""
    height, width = size
    try:
        if backend == "egl":
            from mujoco.egl import GLContext
        elif backend == "osmesa":
            from mujoco.osmesa import GLContext
        else:
            from mujoco.gl_context import GLContext
        return GLContext(width, height)
    except Exception as error:
        raise RenderingUnavailable(
            f"no graphics context ({backend or 'display'}): {type(error).__name__}: {error}. `proctor doctor` says "
            "what works here; set MUJOCO_GL to egl or osmesa and install what it names"
        ) from error


@dataclass(frozen=True)
class Effects:
    """What costs time in software rendering. `samples`: of each pixel, against jagged edges; 0 for none."""

    shadows: bool = False
    reflections: bool = False
    samples: int = 0


class Viewer:
    """Frames of one simulation. Use it from one thread, and close it. `largest` is the largest frame that will be
    asked for; the model's off-screen buffer grows to it."""

    def __init__(self, model: Any, data: Any, largest: Size, effects: Effects | None = None):
        self._model, self._data, self._largest = model, data, largest
        self._effects = effects or Effects()
        self._canvas: Canvas | None = None

    def draw(self, camera: str, size: Size) -> np.ndarray:
        """The view of a named camera now: uint8 (height, width, 3)."""
        canvas = self._canvas = self._canvas or self._opened()
        canvas.camera.fixedcamid = camera_id(self._model, camera)
        return canvas.frame(self._data, size)

    def _opened(self) -> Canvas:
        import mujoco

        screen, largest = self._model.vis.global_, self._largest
        screen.offheight, screen.offwidth = max(screen.offheight, largest[0]), max(screen.offwidth, largest[1])
        quality = self._model.vis.quality
        quality.offsamples, shadows = self._effects.samples, quality.shadowsize
        if not self._effects.shadows:
            quality.shadowsize = 0  # room for shadows would take 64 MB
        canvas = Canvas(self._model, (screen.offheight, screen.offwidth))
        quality.shadowsize = shadows  # whoever else draws the model may want them
        canvas.camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        canvas.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = self._effects.shadows
        canvas.scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = self._effects.reflections
        return canvas

    def close(self) -> None:
        """Let go of the graphics context. A later frame makes a new one."""
        if self._canvas is not None:
            self._canvas.free()
            self._canvas = None


class Canvas:
    """A graphics context with a model's meshes in it. What is drawn is decided by `camera`, `option` and the flags of
    `scene`."""

    def __init__(self, model: Any, largest: Size):
        import mujoco

        self.model = model
        self._context = graphics_context(largest)
        self._context.make_current()
        self.scene = mujoco.MjvScene(model, maxgeom=model.ngeom + model.nsite + 100)
        self.option, self.camera = mujoco.MjvOption(), mujoco.MjvCamera()
        self._renderer = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._renderer)

    def frame(self, data: Any, size: Size) -> np.ndarray:
        """What the data shows now: uint8 (height, width, 3)."""
        import mujoco

        self._context.make_current()
        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(self.model, data, self.option, None, self.camera, everything, self.scene)
        frame, area = np.empty((*size, 3), np.uint8), mujoco.MjrRect(0, 0, size[1], size[0])
        mujoco.mjr_render(area, self.scene, self._renderer)
        mujoco.mjr_readPixels(frame, None, area, self._renderer)
        return np.ascontiguousarray(frame[::-1])

    def free(self) -> None:
        self._context.make_current()
        self._renderer.free()
        self._context.free()


def camera_id(model: Any, name: str) -> int:
    """The number of a named camera. Raises InputError with the names there are."""
    import mujoco

    found = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, name)
    if found < 0:
        known = ", ".join(model.camera(i).name for i in range(model.ncam))
        raise InputError(f'the model has no camera "{name}"; it has {known or "none"}')
    return found
