"""Rendering without a screen."""

from __future__ import annotations

import ctypes.util
import functools
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

RUNTIME_DIR = "XDG_RUNTIME_DIR"


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


@contextmanager
def without_display() -> Iterator[None]:
    """While this lasts, `XDG_RUNTIME_DIR` has a value: SDL looks there for a display to draw on, and prints an error
    where it is not set, though nothing of what it then draws in memory needs one. Nothing can lie below the null
    device. What was set by others stays."""
    if os.environ.get(RUNTIME_DIR):
        yield
        return
    before = os.environ.get(RUNTIME_DIR)
    os.environ[RUNTIME_DIR] = os.devnull
    try:
        yield
    finally:
        if before is None:
            del os.environ[RUNTIME_DIR]
        else:
            os.environ[RUNTIME_DIR] = before
