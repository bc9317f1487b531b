"""Metrics: pure functions of a recorded episode, each with unit, direction and reducer."""

from proctor.metrics.protocol import GroupMetric, Metric
from proctor.metrics.registry import MetricInfo, compute, describe, describe_term, find_metrics

__all__ = ["GroupMetric", "Metric", "MetricInfo", "compute", "describe", "describe_term", "find_metrics"]
