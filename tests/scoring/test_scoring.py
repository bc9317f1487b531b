import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.config.models import ScoringCfg
from proctor.errors import InputError
from proctor.registry import SCORINGS
from proctor.scoring import Score, Scoring, make_scoring
from proctor_host.episode import Outcome
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

FORCES = {"wall_wire_force_norm_max": 0.2, "wall_collision_force_norm_max": 0.05, "wall_lcp_max_abs_max": 0.1}


def result(outcome: Outcome = Outcome.SUCCESS, k: int | None = 100, **changes: Any) -> TrialResult:
    values: dict[str, Any] = {
        "trial": Trial("a", "t", 3, 126),
        "outcome": outcome,
        "success": outcome is Outcome.SUCCESS,
        "steps_total": 200,
        "steps_to_success": k if outcome is Outcome.SUCCESS else None,
        "first_success": k if outcome is Outcome.SUCCESS else None,
        "episode_reward": -2.5,
        "max_steps": 1000,
    }
    return TrialResult(**{**values, **changes})


def score(options: dict[str, Any], row: TrialResult, mode: str = "default_v1", floor: float | None = None) -> Score:
    return make_scoring(ScoringCfg(mode=mode, floor=floor, options=options)).score(row)


def test_default_v1_equals_the_checked_values() -> None:
    good = result(metrics={"tip_speed_max_mm_s": 30.0, **FORCES})
    bad = result(Outcome.FAILURE, metrics={"tip_speed_max_mm_s": 50.0, **dict.fromkeys(FORCES, 0.0)})
    assert score({}, good).total == pytest.approx(0.889181, abs=5e-7)
    assert score({}, bad).total == pytest.approx(0.256934, abs=5e-7)


def test_default_v2_is_default_v1_with_scales_in_newtons() -> None:
    row = result(metrics={"tip_speed_max_mm_s": 30.0, **FORCES})
    assert score({}, row, "default_v2") == score({"force_scale": 0.2, "lcp_scale": 0.2}, row)
    assert score({"force_scale": 1.0, "lcp_scale": 1.0}, row, "default_v2").total == pytest.approx(0.889181, abs=5e-7)


def test_the_scales_of_default_v2_tell_gentle_wires_from_rough_ones() -> None:
    """Largest forces (wire, solver) of a soft, a common and a stiff wire that were pushed through one arch."""
    pressed = [(0.01, 0.008), (0.09, 0.056), (0.357, 0.23)]
    rows = [result(metrics={"wall_wire_force_norm_max": f, "wall_lcp_max_abs_max": n}) for f, n in pressed]
    old, new = ([score({}, row, mode).components["safety"] for row in rows] for mode in ("default_v1", "default_v2"))
    assert [round(part, 2) for part in old] == [0.98, 0.86, 0.56]
    assert [round(part, 2) for part in new] == [0.91, 0.48, 0.05]


def test_a_missing_force_sensor_is_dropped_unless_the_older_behaviour_is_asked_for() -> None:
    row = result(Outcome.FAILURE, metrics={"tip_speed_max_mm_s": 50.0})
    dropped, perfect = score({}, row), score({"missing_force": "perfect"}, row)
    assert dropped.components["safety"] is None
    assert dropped.total == pytest.approx(0.25 * math.exp(-1) / 3.25)
    assert perfect.total == pytest.approx(0.256934, abs=5e-7)


def test_one_force_signal_is_enough() -> None:
    assert score({}, result(metrics={"wall_lcp_max_abs_max": 0.5})).components["safety"] == pytest.approx(
        math.exp(-0.5)
    )
    wire = {"wall_wire_force_norm_max": 2.0, "wall_collision_force_norm_max": None}
    assert score({"force_scale": 4}, result(metrics=wire)).components["safety"] == pytest.approx(math.exp(-0.5))


def test_a_scale_of_zero_switches_a_penalty_off() -> None:
    row = result(metrics={"tip_speed_max_mm_s": 900.0, **FORCES})
    found = score({"force_scale": 0, "lcp_scale": -1, "speed_scale_mm_s": 0}, row)
    assert (found.components["safety"], found.components["smoothness"]) == (1, 1)


def test_without_normalisation_the_total_is_the_weighted_sum() -> None:
    row = result(k=1)
    assert score({"normalize_weights": False}, row).total == pytest.approx(3.0)
    assert score({}, row).total == pytest.approx(1.0)


def test_nothing_available_has_no_total() -> None:
    assert score({"w_success": 0, "w_efficiency": 0}, result()).total is None


@given(
    k=st.integers(1, 1000),
    speed=st.none() | st.floats(0, 1e4),
    force=st.none() | st.floats(0, 1e4),
    mode=st.sampled_from(["default_v1", "ranking_v1"]),
)
def test_weighted_scores_lie_between_zero_and_one(k: int, speed: float | None, force: float | None, mode: str) -> None:
    row = result(k=k, metrics={"tip_speed_max_mm_s": speed, "wall_wire_force_norm_max": force})
    total = score({}, row, mode).total
    assert total is not None
    assert 0 <= total <= 1


def test_later_success_never_scores_better() -> None:
    for mode in ("default_v1", "ranking_v1"):
        totals = [score({}, result(k=k), mode).total for k in (1, 2, 500, 1000)]
        assert totals == sorted(totals, reverse=True)


def test_efficiency_of_the_two_versions_differs_at_the_end() -> None:
    last = result(k=1000)
    assert score({}, last).components["efficiency"] == pytest.approx(0.001)
    assert score({}, last, "ranking_v1").components["efficiency"] == 0


def test_only_default_v1_counts_a_success_that_did_not_last() -> None:
    lost = result(Outcome.TRUNCATED, first_success=1)
    assert score({}, lost).components["efficiency"] == 1
    assert score({}, lost, "ranking_v1").components["efficiency"] == 0


def test_ranking_v1_smoothness_goes_by_jerk_and_needs_its_scale() -> None:
    row = result(metrics={"tip_jerk_p95_mm_s3": 80.0, "tip_speed_max_mm_s": 1.0})
    assert score({}, row, "ranking_v1").components["smoothness"] is None
    found = score({"jerk_scale_mm_s3": 40}, row, "ranking_v1")
    assert found.components["smoothness"] == pytest.approx(math.exp(-2))


def test_ranking_v1_with_a_limit_of_one_step() -> None:
    assert score({}, result(k=1, max_steps=1), "ranking_v1").components["efficiency"] == 1


@pytest.mark.parametrize("outcome", [o for o in Outcome if not o.scored])
@pytest.mark.parametrize("mode", SCORINGS.names())
def test_unscored_trials_have_no_score(mode: str, outcome: Outcome) -> None:
    found = score({}, result(outcome), mode, floor=0.5)
    assert found.total is None
    assert set(found.components.values()) <= {None}


@pytest.mark.parametrize("outcome", [o for o in Outcome if o.broken_by_policy])
def test_what_the_policy_broke_takes_the_floor(outcome: Outcome) -> None:
    row = result(outcome, metrics={"tip_speed_max_mm_s": 0.0})
    assert [score({}, row, m).total for m in ("default_v1", "ranking_v1", "success")] == [0.0, 0.0, 0.0]
    assert score({}, row, "return").total is None
    assert score({}, row, "return", floor=-100).total == -100
    assert score({}, row).components == {
        "success": 0.0,
        "efficiency": None,
        "safety": None,
        "smoothness": None,
    }


def test_success_and_return() -> None:
    assert score({}, result(), "success").total == 1
    assert score({}, result(Outcome.TRUNCATED), "success").total == 0
    assert score({}, result(), "return").total == -2.5


OWN = """
from proctor.scoring import Score, Scoring

def half(result, factor=0.5):
    return factor * result.steps_total

def parts(result):
    return Score(1.0, {"speed": float("nan")})

def infinite(result):
    return float("inf")

def broken(result):
    return 1 / 0

def words(result):
    return "good"

class Steps(Scoring):
    name, version, components, floor = "steps", "3", ("steps",), -1.0
    def rate(self, result):
        return Score(result.steps_total * self.cfg.options["factor"], {"steps": result.steps_total})

number = 3
"""


@pytest.fixture
def own(tmp_path):
    (tmp_path / "own.py").write_text(OWN)

    def make(name: str, **cfg: Any) -> Scoring:
        return make_scoring(ScoringCfg(mode=f"own.py:{name}", **cfg), tmp_path)

    return make


def test_a_function_of_your_own(own) -> None:
    assert own("half").score(result()).total == 100
    assert own("half", options={"factor": 2}).score(result()).total == 400
    assert own("half").score(result(Outcome.POLICY_ERROR)).total is None
    assert own("half").name == "own.py:half"


def test_a_scoring_class_of_your_own(own) -> None:
    scoring = own("Steps", options={"factor": 2})
    assert scoring.score(result()) == Score(400, {"steps": 200})
    assert scoring.score(result(Outcome.INVALID_ACTION)).total == -1
    assert own("Steps", floor=-7, options={"factor": 2}).floor == -7


def test_numbers_that_are_none_become_none(own) -> None:
    assert own("infinite").score(result()).total is None
    assert own("parts").score(result()) == Score(1.0, {"speed": None})


def test_errors_name_the_scoring_and_the_trial(own) -> None:
    with pytest.raises(InputError, match=r'"own.py:broken" failed on trial a/t/0003: ZeroDivisionError'):
        own("broken").score(result())
    with pytest.raises(InputError, match=r"returned 'good' for trial a/t/0003; expected a number"):
        own("words").score(result())
    with pytest.raises(InputError, match=r'"own.py:number" is 3; expected a subclass of proctor.scoring.Scoring'):
        own("number")
    with pytest.raises(InputError, match='unknown scoring "defualt_v1"; did you mean "default_v1"'):
        make_scoring(ScoringCfg(mode="defualt_v1"))
