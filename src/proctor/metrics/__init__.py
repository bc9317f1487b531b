"""Metrics: pure functions of a recorded episode, each with unit, direction and reducer."""

from proctor.metrics.protocol import Metric
from proctor.metrics.registry import METRICS, MetricInfo, compute, describe, find_metrics

__all__ = ["METRICS", "Metric", "MetricInfo", "compute", "describe", "find_metrics"]
