"""A batch of trials is scored as its trials are, to the last bit."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.config.models import ScoringCfg
from proctor.record.batch import TrialBatch
from proctor.registry import SCORINGS
from proctor.scoring import make_scoring
from proctor.scoring.columns import ColumnScoring, TrialColumns, score_batch
from proctor.suites.endovascular.scoring import DefaultV1
from proctor_host.episode import Outcome
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

NAMES = ("wall_wire_force_norm_max", "wall_collision_force_norm_max", "wall_lcp_max_abs_max", "tip_speed_max_mm_s",
         "tip_jerk_p95_mm_s3", "emd")  # fmt: skip
number = st.floats(0, 1e3) | st.none()
results = st.builds(
    lambda outcome, success, steps, reward, limit, metrics: TrialResult(
        Trial("a", "t", 0, 0), outcome, success and outcome is Outcome.SUCCESS, 5,
        None if steps is None else min(steps, limit), reward, limit, metrics=metrics,
    ),
    st.sampled_from(Outcome), st.booleans(), st.none() | st.integers(1, 60), number, st.integers(1, 50),
    st.dictionaries(st.sampled_from(NAMES), number),
)  # fmt: skip
weighted = {
    "missing_force": st.sampled_from(["drop", "perfect"]), "force_scale": st.sampled_from([0.0, 0.3, 2.0]),
    "normalize_weights": st.booleans(), "w_safety": st.sampled_from([0.0, 1.3]),
    "w_success": st.sampled_from([0.0, 2.0]),
}  # fmt: skip
options: dict[str, Any] = {
    "default_v1": weighted,
    "default_v2": weighted,
    "ranking_v1": {**weighted, "jerk_scale_mm_s3": st.sampled_from([None, 40.0])},
    "tracking_v1": {"emd_scale": st.sampled_from([0.75, 3.0]), "w_pose": st.sampled_from([0.0, 2.0])},
    "terminal": {"weights": st.just({"steps": -0.3}), "steps": st.sampled_from(["once", "count"])},
    "success": {},
    "return": {},
}


def same(found: float, expected: float | None) -> bool:
    return math.isnan(found) if expected is None else found == expected


@pytest.mark.parametrize("mode", SCORINGS.names())
@settings(max_examples=60, deadline=None)
@given(st.lists(results, min_size=1, max_size=6), st.data())
def test_a_batch_scores_like_its_trials(mode: str, trials: list[TrialResult], data: st.DataObject) -> None:
    floor = data.draw(st.sampled_from([None, -1.5]))
    scoring = make_scoring(ScoringCfg(mode=mode, floor=floor, options=data.draw(st.fixed_dictionaries(options[mode]))))
    assert isinstance(scoring, ColumnScoring)
    found = score_batch(scoring, TrialBatch.of(trials))
    for row, result in enumerate(trials):
        score = scoring.score(result)
        assert same(found.total[row], score.total)
        named = found.components.named[found.components.which[row]]
        assert set(named) == set(score.components)
        assert all(same(found.components.columns[name][row], value) for name, value in score.components.items())


def test_by_hand() -> None:
    """Success at step 100 of 1000 with force 0.2, constraint force 0.1 and speed 30; failure at speed 50 without
    contact; and the same failure without force signals, whose safety is left out."""
    forces = dict.fromkeys(NAMES[:3], 0.0)
    good = TrialResult(Trial("a", "t", 0, 0), Outcome.SUCCESS, True, 100, 100, 1.0, 1000, 100)
    bad = TrialResult(Trial("a", "t", 1, 1), Outcome.FAILURE, False, 100, None, 1.0, 1000)
    rows = [
        replace(good, metrics=dict(zip(NAMES, (0.2, 0.05, 0.1, 30.0), strict=False))),
        replace(bad, metrics={**forces, "tip_speed_max_mm_s": 50.0}),
        replace(bad, metrics={"tip_speed_max_mm_s": 50.0}),
    ]
    found = score_batch(DefaultV1(ScoringCfg()), TrialBatch.of(rows))
    assert found.total.round(6).tolist() == [0.889181, 0.256934, round(0.25 * math.exp(-1) / 3.25, 6)]


def test_a_subclass_is_asked_itself() -> None:
    class Own(DefaultV1):
        def efficiency(self, trials: TrialColumns) -> np.ndarray:
            return np.full(len(trials), 0.125)

    trial = TrialResult(Trial("a", "t", 0, 0), Outcome.SUCCESS, True, 5, 5, 1.0, 10)
    found = score_batch(Own(ScoringCfg()), TrialBatch.of([trial, replace(trial, outcome=Outcome.TIMEOUT)]))
    assert found.components.columns["efficiency"][0] == 0.125
    assert np.isnan(found.total[1])
