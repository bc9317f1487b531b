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
from proctor.scoring import Score, make_scoring
from proctor_host.episode import Outcome
from proctor_host.result import TrialResult
from proctor_host.trials import Trial


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
        ({"emd_scal": 1}, "options.emd_scal: unknown key; expected one of emd_scale"),
        ({"emd_scale": 0}, "options.emd_scale: found 0; expected more than 0"),
        ({"w_pose": "much"}, 'options.w_pose: found "much"; expected a number'),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        make_scoring(ScoringCfg(mode="tracking_v1", options=options))
    assert words in str(caught.value)


def scored(scoring: dict[str, Any]) -> ScoringCfg:
    raw = {"agents": [{"policy": "random"}], "tasks": ["CartPole-v1"], "scoring": scoring}
    return config_from_dict(raw).scoring


def test_targets_go_with_any_scoring() -> None:
    assert scored({"mode": "success", "targets": {"emd": 0.75, "upright_share": 1}}).targets["upright_share"] == 1.0
    assert scored({"mode": "success"}).targets == {}


def test_a_config_shows_the_options_complete() -> None:
    assert scored({"mode": "tracking_v1", "options": {"w_pose": 1}}).options == {
        "emd_scale": 0.75, "place_scale_mm": 500.0, "w_pose": 1.0, "w_place": 1.0, "w_upright": 1.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("scoring", "words"),
    [
        ({"options": {"emd_scal": 1}}, "scoring.options.emd_scal: unknown key; expected one of emd_scale"),
        ({"options": {"emd_scal": 1}}, 'did you mean "emd_scale"?'),
        ({"emd_scale": 1}, 'scoring.emd_scale: unknown key; "emd_scale" is an option of the scoring tracking_v1'),
        ({"targets": 0.75}, "scoring.targets: found 0.75; expected a mapping"),
        ({"targets": {"emd": "low"}}, 'scoring.targets.emd: found "low"; expected a number'),
        ({"targets": {"emd": math.nan}}, "scoring.targets.emd: found NaN; expected a finite number"),
        ({"targets": {"emd_xpo": 1}}, 'scoring.targets.emd_xpo: there is a target for "emd_xpo", which is no metric'),
        ({"targets": {"emd_xpo": 1}}, 'did you mean "emd_xpos"?'),
    ],
)
def test_a_config_finds_what_is_wrong_before_a_trial_runs(scoring: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        scored({"mode": "tracking_v1", **scoring})
    assert words in str(caught.value)
