"""The benchmark of tracking rollouts runs; its sides simulate the same. How fast anything is, is not tested here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    import benchmarks.tracking_rollout

    return benchmarks.tracking_rollout


def test_rows_say_what_was_compared(benchmark: Any) -> None:
    rows = benchmark.compare(benchmark.Size(worlds=3, seconds=0.1, threads=1), repeats=1)
    names = ["vector environment", "batch environment", "engine"]
    assert [row.name for row in rows] == [f"tracking rollout, 3 worlds, {name}" for name in names]
    assert all(row.proctor > 0 and row.other > 0 and row.goal == "at least 0.9" for row in rows)


def test_the_engine_s_side_holds_the_pose_that_the_bare_side_has_as_target(benchmark: Any) -> None:
    from proctor.suites.tracking.batch import TrackingBatchEnv
    from proctor.suites.tracking.options import TrackingOptions

    robot, library = benchmark._task()
    env = TrackingBatchEnv(robot, library, 1, TrackingOptions(motions=[benchmark.MOTION]))
    targets = env.worlds.targets(env.dummy_action()[None], np.array([0]))
    np.testing.assert_array_equal(targets[0], robot.description.default_pose)
    env.close()
