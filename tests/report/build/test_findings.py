"""What a report says first."""

from __future__ import annotations

from pathlib import Path

import pytest

import proctor


def broken(_: object) -> None:
    raise ValueError("weights of another net")


@pytest.mark.parametrize(("n", "trials"), [(1, "its only trial"), (4, "all 4 trials")])
def test_a_policy_that_breaks_every_trial_has_not_failed_the_task(tmp_path: Path, n: int, trials: str) -> None:
    run = proctor.evaluate(broken, "CartPole-v1", n=n, success=475, out=tmp_path, progress=False, workers="inline")
    assert run.verdict.startswith(f"No verdict: broken broke in {trials}. Policy error: ")
    assert "weights of another net" in run.verdict
    assert "succeeded" not in run.verdict
