"""The benchmark of tracking metrics compares like with like. How fast anything is, is not tested here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proctor.suites.tracking.metrics import evaluate_tracks

ROOT = Path(__file__).parent.parent


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("torch")
    pytest.importorskip("ot")
    monkeypatch.syspath_prepend(str(ROOT))
    import benchmarks.tracking_metrics

    return benchmarks.tracking_metrics


def test_both_sides_give_the_same_numbers(benchmark: Any) -> None:
    pairs = benchmark.mixed(4, 40)
    for theirs, ours in zip(benchmark.loop(pairs), evaluate_tracks(pairs, 1), strict=True):
        for name in set(theirs) - {"upright_share"}:
            assert theirs[name] == pytest.approx(ours[name], rel=2e-3, abs=2e-3), name


def test_the_mix_is_what_it_says(benchmark: Any) -> None:
    upright = [row["upright_share"] for row in evaluate_tracks(benchmark.mixed(50, 20))]
    assert sum(share < 0.95 for share in upright) / 50 == pytest.approx(0.32, abs=0.1)


def test_rows_say_what_was_compared(benchmark: Any) -> None:
    one, two = benchmark.compare(3, 20, 1)
    assert one.name == "all tracking metrics, 3 mixed motions, 1 thread"
    assert (one.goal, two.goal) == ("at least 10", "at least 18")
    assert one.ratio == pytest.approx(one.proctor / one.other)
