"""Where the time went, as it is told."""

from __future__ import annotations

import pytest

from proctor.report.sections import timing

SPENT = {"environment": 6.0, "inference": 3.0, "transfer": 0.0, "waiting": 0.02, "recording": 0.98}
BATCH = {
    "pi": {
        "plan": {"forwards": 4, "rows": 45, "seconds": 1.0},
        "act": {"forwards": 30, "rows": 447, "seconds": 2.0},
    },
    "idle": {"act": {"forwards": 0, "rows": 0, "seconds": 0.0}},
}


def test_shares_are_told_largest_first() -> None:
    told = "environment 60 %, inference 30 %, recording 10 %, waiting 0.2 %, transfer 0 %"
    assert timing.time_words(SPENT) == told


def test_mean_batches_are_told_by_stage_and_idle_agents_are_not() -> None:
    assert list(timing.batch_words(BATCH)) == [("pi", "plan 11.2 rows, act 14.9 rows")]


def test_files_have_seconds_and_shares() -> None:
    keys = timing.time_keys(SPENT)
    assert keys is not None
    assert keys["slot_seconds"] == SPENT
    assert keys["shares"]["inference"] == pytest.approx(0.3)
    batch = timing.batch_keys(BATCH)
    assert batch is not None
    assert batch["pi"]["plan"] == {"forwards": 4, "rows": 45, "seconds": 1.0, "rows_per_forward": 11.25}
    assert batch["idle"]["act"]["rows_per_forward"] is None


@pytest.mark.parametrize("nothing", [None, {}])
def test_what_was_not_measured_is_not_told(nothing: dict[str, float] | None) -> None:
    assert timing.time_words(nothing) is None
    assert timing.time_keys(nothing) is None
    assert list(timing.batch_words(nothing)) == []


def test_no_time_at_all_has_no_shares() -> None:
    assert timing.shares({"environment": 0.0, "inference": 0.0}) == {}
