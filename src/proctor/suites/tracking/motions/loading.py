"""From sources to a library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from proctor.suites.tracking.motions.library import MotionLibrary
from proctor.suites.tracking.robot import Robot


def load_motions(
    sources: Sequence[str | Path], robot: Robot, dt_s: float = 0.02, *, cache: Path | None = None, **options: Any
) -> MotionLibrary:
    raise NotImplementedError
