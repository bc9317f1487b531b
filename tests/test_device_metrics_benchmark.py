"""The benchmark of all metrics, records and reports measures what it says. How fast anything is, is not tested here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor.metrics import compute
from proctor.suites.tracking.parts import METRICS

ROOT = Path(__file__).parent.parent


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    import benchmarks.device_metrics

    return benchmarks.device_metrics


def test_its_episodes_have_every_metric(benchmark: Any) -> None:
    made = benchmark.episodes(3, 12)
    assert [one.case for one in made] == ["motion 0000", "motion 0001", "motion 0002"]
    assert all(set(METRICS) <= set(compute(one)) for one in made)
    assert made[0].arrays["joint_pos"].dtype == np.float32


@pytest.mark.parametrize("device", [None, "cpu"])
def test_every_part_is_timed_on_both_sides_that_have_it(benchmark: Any, device: str | None) -> None:
    if device is not None:
        pytest.importorskip("torch")
    lines = list(benchmark.parts(benchmark.episodes(3, 12), device, 2))
    assert [line.part.partition(";")[0].partition(",")[0] for line in lines] == [
        "records to tracks in double precision",
        "frame-wise metrics",
        "exact transport",
        "all metrics",
        "their means and deviations over motions",
        "digests and npz",
    ]
    assert all(line.alone.clock > 0 for line in lines)
    assert sum(line.together is None for line in lines) == 3


def test_sides_that_differ_are_refused(benchmark: Any) -> None:
    benchmark.compare([{"emd": 1.0, "fall": None}], [{"emd": 1.0 + 1e-15, "fall": None}])
    for other in ({"emd": 1.001, "fall": None}, {"emd": 1.0, "fall": 2.0}, {"fall": None, "emd": 1.0}):
        with pytest.raises(AssertionError):
            benchmark.compare([{"emd": 1.0, "fall": None}], [other])


def test_a_runs_end_leaves_records_ledger_and_report(benchmark: Any, tmp_path: Path) -> None:
    spent = benchmark.finish(tmp_path, benchmark.episodes(3, 12), 2)
    parts = [spent[name] for name in ("metrics and records", "ledger", "report")]
    assert spent["total"].clock == pytest.approx(sum(part.clock for part in parts))
    (run,) = tmp_path.iterdir()
    assert len(list((run / "trials").iterdir())) == 3
    assert len((run / "summary.csv").read_text().splitlines()) == 4
    assert (run / "report.html").is_file()
