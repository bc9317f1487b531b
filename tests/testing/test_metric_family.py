"""Each law of MetricFamilyConformance finds what breaks it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from proctor import MetricFamily
from proctor.metrics import MetricInfo
from proctor.registry import FAMILIES
from proctor.testing import MetricFamilyConformance


class Last(MetricFamily):
    """The last value of every signal of a wheel."""

    name: ClassVar[str] = "last"

    def values(self, episode):
        return {f"last_{n}": float(a[-1]) for n, a in episode.arrays.items() if n.startswith("wheel_")}

    def describe(self, name):
        return MetricInfo(name, "rad", "none", "mean", "The last.") if name.startswith("last_") else None


class TestLast(MetricFamilyConformance):
    def make(self):
        return Last()

    def signals(self, steps, rng):
        return {"wheel_left": rng.random(steps), "wheel_right": rng.random(steps)}


class Nameless(Last):
    name = ""


class Listed(Last):
    def values(self, episode):
        return list(super().values(episode))


class Nothing(Last):
    def values(self, episode):
        return {}


class Scalars(Last):
    def values(self, episode):
        return {name: np.float32(value) for name, value in super().values(episode).items()}


class Silent(Last):
    def describe(self, name):
        return None


class OtherName(Last):
    def describe(self, name):
        found = super().describe(name)
        return found and found._replace(name="other")


class Unitless(Last):
    def describe(self, name):
        found = super().describe(name)
        return found and found._replace(unit="")


class Sideways(Last):
    def describe(self, name):
        found = super().describe(name)
        return found and found._replace(direction="sideways")


class OddReducer(Last):
    def describe(self, name):
        found = super().describe(name)
        return found and found._replace(reducer="guess")


class KnowsAll(Last):
    def describe(self, name):
        return MetricInfo(name, "rad", "none", "mean", "The last.")


class Takes(Last):
    def values(self, episode):
        return {"action_abs_max": 1.0}


class Writes(Last):
    def values(self, episode):
        episode.arrays["rewards"][:] = 0
        return super().values(episode)


class Counts(Last):
    calls = 0.0

    def values(self, episode):
        self.calls += 1
        return {"last_call": self.calls}


class Zeros(Last):
    def values(self, episode):
        return {"last_wheel_left": 0.0}


class Hasty(Last):
    def many(self, episodes):
        return [self.values(episodes[0])] * len(episodes)


OWN = "test_describes_its_own_metrics_and_no_others"


@pytest.mark.parametrize(
    ("broken", "law", "message"),
    [
        (Hasty, "test_many_episodes_have_the_values_of_each", "many gave .* for episodes that one by one have"),
        (Nameless, "test_declares_itself", "name is empty"),
        (Listed, "test_gives_floats_or_none_by_name", "values gave a list; expected a mapping"),
        (Nothing, "test_gives_floats_or_none_by_name", "the family has no metric to look at"),
        (Scalars, "test_gives_floats_or_none_by_name", "is a float32; expected float or None"),
        (Silent, OWN, "gave None; expected a MetricInfo"),
        (OtherName, OWN, 'is about "other"'),
        (Unitless, OWN, "has no unit"),
        (Sideways, OWN, "has the direction 'sideways'"),
        (OddReducer, OWN, "has the reducer 'guess'"),
        (KnowsAll, OWN, "gave something; expected None"),
        (Takes, "test_no_name_is_that_of_a_metric", "belong to registered metrics: action_abs_max"),
        (Writes, "test_is_pure", "changed the episode's arrays"),
        (Counts, "test_is_pure", "from a new family"),
        (Zeros, "test_a_record_without_its_arrays_has_none_of_its_metrics", "missing is not a number"),
    ],
)
def test_a_broken_family_is_found(broken, law, message):
    class Laws(TestLast):
        def make(self):
            return broken()

    with pytest.raises(AssertionError, match=message):
        getattr(Laws(), law)()


def test_every_registered_family_is_well_described():
    assert all(FAMILIES.load(name)().describe("a metric that no family has") is None for name in FAMILIES.names())
