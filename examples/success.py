"""What success is, where a threshold on the return does not say it."""

from __future__ import annotations

from typing import Any

import numpy as np


def fingertip_at_target(
    env: Any, observation: np.ndarray, reward: float, terminated: bool, truncated: bool, info: dict[str, Any]
) -> bool:
    """Reacher: the fingertip is within 3 cm of the target. Called after each step; that the last one counts
    is the task's `success_rule`, `at_end` by default."""
    return bool(np.linalg.norm(observation[-2:]) < 0.03)
