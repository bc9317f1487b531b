"""A quantity has the interval of what it is, not of what its values happen to be."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from proctor.report import build_report
from proctor.report.model import Report
from proctor.stats import NoInterval, Resampling, Units, mean_estimate


def report_with(run, **fields: float) -> Report:
    """Of the same run, with these numbers in every trial that succeeded."""
    results = [dataclasses.replace(r, **fields) if r.success else r for r in run.results]
    return build_report(run.cfg, iter(results), run.context)


def test_steps_to_success_that_are_all_one_are_no_rate(run) -> None:
    cell = report_with(run, steps_to_success=1, first_success=1).agents[0].cells[0].summary
    found = cell.steps_to_success
    assert found.n > 1
    assert (found.mean, found.method, found.interval, found.degenerate) == (1.0, "student_t", None, True)


def test_a_metric_that_is_equal_in_every_trial_has_no_interval(run) -> None:
    results = [dataclasses.replace(r, metrics={**r.metrics, "tip_speed_max_mm_s": 0.1 + 0.2}) for r in run.results]
    found = build_report(run.cfg, iter(results), run.context).agents[0].overall.metrics["tip_speed_max_mm_s"]
    assert found.n > 1
    assert (found.value, found.interval) == (pytest.approx(0.3), None)


def test_the_component_success_is_a_rate(run) -> None:
    found = report_with(run).agents[0].overall.components["success"]
    assert found.method == "wilson"
    assert found.interval is not None


def test_returns_that_are_all_one_are_no_rate() -> None:
    units = Units.of([np.ones(20)], [np.arange(20)], [1.0])
    found = mean_estimate(units, 0.95, Resampling(100))
    assert (found.interval, found.reason) == (None, NoInterval.EQUAL)
