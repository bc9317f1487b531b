"""Protocols that LIBERO is evaluated with, as data: numbers from different ones are not comparable. The environment
reads them in whatever interpreter it lives, so nothing but the standard library is imported here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Benchmark = Literal["spatial", "object", "goal", "10", "90"]
Protocol = Literal["openpi", "libero_original", "waypoint"]
Scenes = Literal["own", "sequence", "same"]

TASKS: dict[str, int] = {"spatial": 10, "object": 10, "goal": 10, "10": 10, "90": 90}
"""How many tasks each benchmark has."""


@dataclass(frozen=True)
class Preset:
    """`max_steps`: by benchmark, the wait not counted. `rotated`: frames are turned by 180 degrees. `image_px`: side of
    a frame after resizing. `latched`: success that comes during the wait counts."""

    trials: int
    wait_steps: int
    dummy_action: tuple[float, ...]
    max_steps: dict[str, int]
    render_px: int
    image_px: int
    rotated: bool
    scene_seed: int
    latched: bool = False


_OPENPI = Preset(
    trials=50,
    wait_steps=10,
    dummy_action=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0),
    max_steps={"spatial": 220, "object": 280, "goal": 300, "10": 520, "90": 400},
    render_px=256,
    image_px=224,
    rotated=True,
    scene_seed=7,
)

PRESETS: dict[str, Preset] = {
    "openpi": _OPENPI,
    "libero_original": Preset(
        trials=20,
        wait_steps=5,
        dummy_action=(0.0,) * 7,
        max_steps=dict.fromkeys(TASKS, 600),
        render_px=128,
        image_px=128,
        rotated=False,
        scene_seed=10000,
    ),
    "waypoint": replace(_OPENPI, dummy_action=(0.0,) * 7, latched=True),
}
