"""Batches hold what single results hold."""

from __future__ import annotations

from proctor.record.batch import BATCH, batched
from proctor_host.episode import Outcome
from proctor_host.result import TrialResult
from proctor_host.trials import Trial


def results_with(found: list[dict[str, float | None]]) -> list[TrialResult]:
    return [
        TrialResult(Trial("a", "t", i, i), Outcome.SUCCESS, i % 2 == 0, 3, 2, 1.5, 10, metrics=m, trace="f" * 64)
        for i, m in enumerate(found)
    ]


def test_many_results_come_in_several_batches_in_their_order() -> None:
    results = results_with([{"emd": 1.0}] * (BATCH + 1))
    batches = list(batched(results))
    assert [len(batch) for batch in batches] == [BATCH, 1]
    assert [r for batch in batches for r in batch.results()] == results
