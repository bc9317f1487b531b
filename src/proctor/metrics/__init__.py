"""Metrics: pure functions of a recorded episode, each with unit, direction and reducer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proctor.exports import lazily
from proctor.metrics.protocol import Direction, GroupMetric, Metric, MetricFamily, MetricInfo, Reducer
from proctor.metrics.registry import compute, compute_many, describe

if TYPE_CHECKING:
    from proctor.metrics.transport import emd, emd_many

__getattr__ = lazily(__name__, __file__)

__all__ = [
    "Direction", "GroupMetric", "Metric", "MetricFamily", "MetricInfo", "Reducer", "compute", "compute_many",
    "describe", "emd", "emd_many",
]  # fmt: skip
