"""Calls every kernel of exact transport once, so that it is compiled."""

from __future__ import annotations

import numpy as np

from proctor.metrics.transport import emd


def warm() -> None:
    points = np.random.default_rng(0).standard_normal((24, 3))
    for other in (points + 0.001, points[:17], points[::-1] * 3.0):
        emd(points, other)
