"""Rendering without a screen."""

from __future__ import annotations

import ctypes.util
import functools
import sys
from collections.abc import Mapping


def offscreen_backend(environment: Mapping[str, str]) -> str | None:
    """What MuJoCo should render with (`MUJOCO_GL`) where there is no display: `egl`, else `osmesa`, by the libraries
    that are installed; None where there is a display, or neither library."""
    if sys.platform != "linux" or environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"):
        return None
    return _installed_backend()


@functools.cache
def _installed_backend() -> str | None:
    if ctypes.util.find_library("EGL") and ctypes.util.find_library("GL"):
        return "egl"
    return "osmesa" if ctypes.util.find_library("OSMesa") else None
