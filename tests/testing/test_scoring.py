"""Each law of ScoringConformance finds what breaks it."""

from __future__ import annotations

from typing import ClassVar

import pytest

from proctor import Score, Scoring
from proctor.registry import SCORINGS
from proctor.testing import ScoringConformance


class Careful(Scoring):
    name, version, components, floor = "careful", "1", ("success", "grip"), -1.0

    def rate(self, result):
        grip = result.metrics.get("grip_n")
        return Score(None if grip is None else result.success - grip, {"success": float(result.success), "grip": grip})


class TestCareful(ScoringConformance):
    metrics: ClassVar[dict[str, float | None]] = {"grip_n": 0.25}

    def make(self, cfg):
        return Careful(cfg)


class TestSuccess(ScoringConformance):
    def make(self, cfg):
        return SCORINGS.load("success")(cfg)


class TestReturn(ScoringConformance):
    def make(self, cfg):
        return SCORINGS.load("return")(cfg)


class TestDefaultV1(ScoringConformance):
    metrics: ClassVar[dict[str, float | None]] = {
        "wall_wire_force_norm_max": 0.5,
        "wall_collision_force_norm_max": 0.25,
        "wall_lcp_max_abs_max": 0.1,
        "tip_speed_max_mm_s": 20.0,
    }

    def make(self, cfg):
        return SCORINGS.load("default_v1")(cfg)


class TestTrackingV1(ScoringConformance):
    metrics: ClassVar[dict[str, float | None]] = {"emd": 0.5, "emd_xpos": 0.2, "upright_share": 0.9}

    def make(self, cfg):
        return SCORINGS.load("tracking_v1")(cfg)


class Nameless(Careful):
    name = ""


class Unversioned(Careful):
    version = ""


class Unitless(Careful):
    unit = ""


class ListOfComponents(Careful):
    components = ["success", "grip"]  # noqa: RUF012 - the fault under test


class ScoresFaults(Careful):
    def score(self, result):
        return self.rate(result)


class OwnFloor(Careful):
    def score(self, result):
        return Score(-2.0) if result.outcome.broken_by_policy else super().score(result)


class FixedFloor(Careful):
    def __init__(self, cfg):
        super().__init__(cfg)
        self.floor = -1.0


class Number(Careful):
    def rate(self, result):
        return 1.0


class Infinite(Careful):
    def score(self, result):
        return Score(float("inf")) if result.outcome.scored else super().score(result)


class Undeclared(Careful):
    def rate(self, result):
        return Score(1.0, {"speed": 1.0})


class Writes(Careful):
    def rate(self, result):
        result.metrics["grip_n"] = 0.0
        return Score(1.0)


class Counts(Careful):
    calls = 0

    def rate(self, result):
        self.calls += 1
        return Score(float(self.calls))


class Needs(Careful):
    def rate(self, result):
        return Score(result.metrics["grip_n"] + 0.0)


class OddSettings(Careful):
    def settings(self):
        return {"scale": {1, 2}}


class Tuples(Careful):
    def settings(self):
        return {"scale": (1, 2)}


DECLARES, SHAPE = "test_declares_itself", "test_a_score_is_a_finite_number_with_the_declared_components"
FLOOR, PLAIN = "test_what_the_policy_broke_gets_the_floor", "test_settings_are_plain_data"


@pytest.mark.parametrize(
    ("broken", "law", "message"),
    [
        (Nameless, DECLARES, "name is empty"),
        (Unversioned, DECLARES, "version is empty"),
        (Unitless, DECLARES, "unit is empty"),
        (ListOfComponents, DECLARES, "components is a list"),
        (ScoresFaults, "test_a_trial_without_a_verdict_has_no_score", "env_error.* got the score"),
        (OwnFloor, FLOOR, "got -2.0; the floor is -1.0"),
        (FixedFloor, FLOOR, "got -1.0 where the config's floor is -7.5"),
        (Number, SHAPE, "rate gave a float; expected proctor.scoring.Score"),
        (Infinite, SHAPE, "total is inf; expected a finite number"),
        (Undeclared, SHAPE, "the score has speed, which components does not name"),
        (Writes, "test_is_pure", "changed the result"),
        (Counts, "test_is_pure", "one result got 1.0, then 2.0, and 1.0 from a new scoring"),
        (Needs, "test_a_missing_metric_is_not_a_number", 'without the metric "grip_n" the scoring raised KeyError'),
        (OddSettings, PLAIN, "cannot be written as JSON"),
        (Tuples, PLAIN, "comes back from JSON as something else"),
    ],
)
def test_a_broken_scoring_is_found(broken, law, message):
    class Laws(TestCareful):
        def make(self, cfg):
            return broken(cfg)

    with pytest.raises(AssertionError, match=message):
        getattr(Laws(), law)()
