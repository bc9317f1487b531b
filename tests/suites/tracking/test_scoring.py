"""`tracking_v1` and targets."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor import ConfigError, config_from_dict
from proctor.config.models import ScoringCfg
from proctor.errors import InputError
from proctor.plan.trial import Trial
from proctor.record.episode import Outcome
from proctor.record.result import TrialResult
from proctor.scoring import Score, make_scoring
from proctor.scoring.targets import check_targets, read_targets


def rated(metrics: dict[str, float | None], outcome: Outcome = Outcome.TRUNCATED, **options: Any) -> Score:
    result = TrialResult(Trial("a", "t", 0, 123), outcome, False, 99, None, 0.0, 100, metrics=metrics)
    return make_scoring(ScoringCfg(mode="tracking_v1", options=options)).score(result)


GOOD: dict[str, float | None] = {"emd": 0.75, "mpjpe_xpos": 250.0, "upright_share": 0.9}


def test_by_hand() -> None:
    found = rated(GOOD)
    assert found.components == pytest.approx({"pose": math.exp(-1), "place": math.exp(-0.5), "upright": 0.9})
    assert found.total == pytest.approx((2 * math.exp(-1) + math.exp(-0.5) + 0.9) / 4)
    assert rated({"emd": 0.0, "mpjpe_xpos": 0.0, "upright_share": 1.0}).total == 1


@given(emd=st.floats(0, 20), place=st.floats(0, 5000), upright=st.floats(0, 1), worse=st.floats(1e-3, 10))
def test_it_lies_in_the_unit_interval_and_falls_with_every_error(
    emd: float, place: float, upright: float, worse: float
) -> None:
    def total(emd: float, place: float) -> float:
        found = rated({"emd": emd, "mpjpe_xpos": place, "upright_share": upright}).total
        assert found is not None
        assert 0 <= found <= 1
        return found

    assert total(emd + worse, place) <= total(emd, place)
    assert total(emd, place + 1000 * worse) <= total(emd, place)


def test_what_was_not_recorded_is_dropped_with_its_weight() -> None:
    found = rated({"emd": 0.75})
    assert found.components == {"pose": pytest.approx(math.exp(-1)), "place": None, "upright": None}
    assert found.total == pytest.approx(math.exp(-1))
    assert rated({}).total is None


def test_a_metric_without_a_value_counts_as_nothing_reached() -> None:
    diverged = rated({"emd": None, "mpjpe_xpos": None, "upright_share": 0.4})
    assert diverged.total == pytest.approx(0.1)
    assert diverged.components == {"pose": 0.0, "place": 0.0, "upright": 0.4}


def test_a_trial_that_the_policy_broke_scores_the_floor() -> None:
    assert rated(GOOD, Outcome.INVALID_ACTION).total == 0
    assert rated(GOOD, Outcome.WORKER_LOST).total is None


def test_scales_and_weights_are_options_and_part_of_the_settings() -> None:
    found = rated(GOOD, emd_scale=1.5, place_scale_mm=250, w_pose=1, w_upright=0)
    assert found.total == pytest.approx((math.exp(-0.5) + math.exp(-1)) / 2)
    settings = make_scoring(ScoringCfg(mode="tracking_v1", options={"w_pose": 1})).settings()
    assert settings["options"]["w_pose"] == 1
    assert settings["options"]["emd_scale"] == 0.75


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"emd_scal": 1}, 'the scoring tracking_v1 has no option "emd_scal"; did you mean "emd_scale"?'),
        ({"emd_scale": 0}, 'the option "emd_scale" of the scoring is 0: Input should be greater than 0'),
        ({"w_pose": "much"}, """the option "w_pose" of the scoring is 'much': Input should be a valid number"""),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        make_scoring(ScoringCfg(mode="tracking_v1", options=options))
    assert words in str(caught.value)


def test_targets_are_read_from_the_options_of_any_scoring() -> None:
    assert read_targets({"targets": {"emd": 0.75, "upright_share": 1}}) == {"emd": 0.75, "upright_share": 1.0}
    assert read_targets({}) == {}
    check_targets({"targets": {"emd": 0.75}})
    check_targets({"targets": {"my_own": 1}}, more_metrics=True)


def halved(result: TrialResult, of: float) -> float:
    return of / 2


def test_a_function_as_scoring_is_not_given_the_targets() -> None:
    scoring = make_scoring(ScoringCfg(mode=f"{__file__}:halved", options={"of": 3.0, "targets": {"emd": 1.0}}))
    assert scoring.score(TrialResult(Trial("a", "t", 0, 1), Outcome.SUCCESS, True, 1, 1, 0.0, 9)).total == 1.5


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        (0.75, "the targets of the scoring are 0.75; expected numbers by metric, such as {emd: 0.75}"),
        ({"emd": "low"}, """the target of "emd" is 'low'; expected a number"""),
        ({"emd": math.nan}, 'the target of "emd" is nan; expected a number'),
        ({"emd_xpo": 1}, 'there is a target for "emd_xpo", which is no metric; did you mean "emd_xpos"?'),
    ],
)
def test_wrong_targets_are_named(targets: Any, words: str) -> None:
    with pytest.raises(InputError) as caught:
        check_targets({"targets": targets})
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("scoring", "words"),
    [
        ({"mode": "tracking_v1", "options": {"emd_scal": 1}}, "scoring.options: the scoring tracking_v1 has no option"),
        ({"options": {"targets": {"emdd": 1}}}, 'scoring.options: there is a target for "emdd", which is no metric'),
    ],
)
def test_a_config_finds_wrong_options_before_a_trial_runs(scoring: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config_from_dict({"agents": [{"policy": "random"}], "tasks": ["CartPole-v1"], "scoring": scoring})
    assert words in str(caught.value)
