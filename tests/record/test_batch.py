"""Batches hold what single results hold."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.plan.trial import Trial
from proctor.record.batch import BATCH, batched
from proctor.record.episode import Outcome
from proctor.record.ledger import Ledger
from proctor.record.result import TrialResult

number = st.floats(allow_nan=False, allow_infinity=False)
metrics = st.dictionaries(st.sampled_from(["emd", "EMD", "a'b", 'q"x', "ünï", "", "a.b", "x y"]), st.none() | number)


def results_with(found: list[dict[str, float | None]]) -> list[TrialResult]:
    return [
        TrialResult(Trial("a", "t", i, i), Outcome.SUCCESS, i % 2 == 0, 3, 2, 1.5, 10, metrics=m, trace="f" * 64)
        for i, m in enumerate(found)
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(metrics, min_size=1, max_size=5))
def test_a_ledger_gives_the_same_in_batches(
    tmp_path_factory: pytest.TempPathFactory, found: list[dict[str, float | None]]
) -> None:
    results = results_with(found)
    with Ledger.create(tmp_path_factory.mktemp("ledger") / "ledger.sqlite") as ledger:
        ledger.add((r.trial, 0, 0) for r in results)
        ledger.finish(results)
        (batch,) = ledger.batches()
        assert list(batch.results()) == results == list(ledger.results())
    for row, values in enumerate(found):
        assert set(batch.metrics.named[batch.metrics.which[row]]) == set(values)
        for name, value in values.items():
            got = float(batch.metric(name)[row])
            assert math.isnan(got) if value is None else (got == value and str(got) == str(float(value)))


def test_a_ledger_without_results_has_no_batches(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "ledger.sqlite") as ledger:
        assert list(ledger.batches()) == []


def test_many_results_come_in_several_batches_in_their_order() -> None:
    results = results_with([{"emd": 1.0}] * (BATCH + 1))
    batches = list(batched(results))
    assert [len(batch) for batch in batches] == [BATCH, 1]
    assert [r for batch in batches for r in batch.results()] == results
