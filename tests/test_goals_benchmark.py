"""The benchmark of goal metrics compares like with like. How fast anything is, is not tested here; how much memory a
retrieval takes, is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    import benchmarks.goals

    return benchmarks.goals


def test_both_sides_give_the_same_numbers(benchmark: Any) -> None:
    made = benchmark.case(12, 5, 16)
    ours = benchmark.pairwise(made)
    own, between, draws, wordings = benchmark.bare_products(made)
    assert ours["accuracy"] == pytest.approx(own.mean(axis=(1, 2)), abs=1e-6)
    assert ours["discriminability"] == pytest.approx(1 - between[np.triu_indices(12, 1)].mean(), abs=1e-6)
    for name, table in (("consistency", draws), ("robustness", wordings)):
        upper = np.triu_indices(table.shape[1], 1)
        assert ours[name] == pytest.approx(table[:, upper[0], upper[1]].mean(axis=1), abs=1e-6)


def test_rows_say_what_was_compared(benchmark: Any) -> None:
    rows = benchmark.goals(1, 20, 10, 16)
    assert [row.goal for row in rows] == ["at most 2", "at most 3", "", ""]
    assert rows[0].name == "pairwise goal metrics, 20 tasks x 10 visuals x 16"
    assert rows[3].name == "the 5 nearest visuals, 4,000 pairs"


def test_memory_does_not_grow_with_goals_or_visuals(benchmark: Any) -> None:
    small, large = benchmark.memory(1500, 5_000, 8), benchmark.memory(3000, 60_000, 8)
    assert large.proctor < 1.3 * small.proctor
    assert large.met
