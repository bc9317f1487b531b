"""Each law of MetricConformance finds what breaks it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from proctor.metrics.protocol import Metric
from proctor.testing import MetricConformance


class Peak(Metric):
    name, unit, direction, reducer = "tip_speed_max_mm_s", "mm/s", "down", "max"
    needs: ClassVar[tuple[str, ...]] = ("tip_speed",)

    def __call__(self, episode):
        if "tip_speed" not in episode.arrays:
            return None
        return float(episode.arrays["tip_speed"].max())


class TestPeak(MetricConformance):
    def make(self):
        return Peak()

    def signals(self, steps, rng):
        return {"tip_speed": rng.random(steps)}


class Zero(Peak):
    def __call__(self, episode):
        return float(episode.arrays.get("tip_speed", np.zeros(1)).max())


class Sorting(Peak):
    def __call__(self, episode):
        episode.arrays["rewards"].sort()
        return 0.0


class Counting(Peak):
    calls = 0

    def __call__(self, episode):
        self.calls += 1
        return float(self.calls)


class Scalar(Peak):
    def __call__(self, episode):
        return np.float32(1)


class NoUnit(Peak):
    unit = ""


class Sideways(Peak):
    direction = "sideways"


class Hasty(Peak):
    def many(self, episodes):
        return [self(episodes[0])] * len(episodes)


@pytest.mark.parametrize(
    ("broken", "law", "message"),
    [
        (
            Zero,
            "test_is_not_available_without_the_arrays_it_needs",
            'without "tip_speed" the metric gave 0.0',
        ),
        (Sorting, "test_is_pure", "changed the episode's arrays"),
        (Counting, "test_is_pure", "gave 1.0, then 2.0, and 1.0"),
        (Hasty, "test_many_episodes_have_the_values_of_each", "many gave .* for episodes that one by one have"),
        (Scalar, "test_gives_a_float_or_none", "got a float32"),
        (NoUnit, "test_declares_itself", "unit is empty"),
        (Sideways, "test_declares_itself", "has the direction 'sideways'"),
    ],
)
def test_a_broken_metric_is_found(broken, law, message):
    class Suite(TestPeak):
        def make(self):
            return broken()

    with pytest.raises(AssertionError, match=message):
        getattr(Suite(), law)()
