"""The simulation of a large cluster plays the real scheduler: every trial is done once, whoever dies."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def simulation(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import cluster_simulation

    return cluster_simulation


def test_without_deaths_and_with_a_driver_that_costs_nothing_no_slot_ever_waits(
    simulation: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulation, "DEATHS_PER_HOUR", 1e-12)
    found = simulation.Cluster(2, 3_200, np.array([20.0]), 0.0).run()
    assert (found.done, found.deaths, found.lost) == (3_200, 0, 0)
    assert found.makespan_s == pytest.approx(3_200 / 32 * 20.0)
    assert found.worked_s == pytest.approx(32 * found.makespan_s)
    assert found.waits_s == pytest.approx(0.0)


def test_nodes_that_die_cost_attempts_and_no_trial(simulation: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "DEATHS_PER_HOUR", 2.0)
    found = simulation.Cluster(4, 10_000, np.array([10.0, 30.0]), 1e-4, seed=3).run()
    assert found.done == 10_000
    assert found.deaths > 0
    assert 0 < found.lost <= 16 * found.deaths
    assert min(found.recovered_s) >= simulation.NOTICED_S
    assert found.busy_s == pytest.approx(1e-4 * (found.done + found.lost), rel=0.05)


def test_a_driver_at_its_limit_makes_slots_wait(simulation: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """64 slots with trials of a second want 64 a second of a driver that can deal with 20."""
    monkeypatch.setattr(simulation, "DEATHS_PER_HOUR", 1e-12)
    found = simulation.Cluster(4, 2_000, np.array([1.0]), 0.05).run()
    assert found.makespan_s == pytest.approx(2_000 * 0.05, rel=0.05)
    assert found.busy_s / found.makespan_s > 0.95


def test_it_prints_a_line_for_each_number_of_nodes() -> None:
    command = [sys.executable, "-m", "benchmarks.cluster_simulation", "--nodes", "1", "2", "--trials", "400"]
    done = subprocess.run([*command, "--driven", "1200"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for line, nodes in zip(done.stdout.splitlines()[-2:], ("1", "2"), strict=True):
        assert re.match(rf"\| {nodes} \| {16 * int(nodes)} \| 400 \| 0\.\d\d \| \d+\.\d\d% \| \d+ us \|", line), line


def test_the_picture_shows_the_table() -> None:
    spec = importlib.util.spec_from_file_location("draw_cluster", ROOT / "scripts" / "draw_cluster.py")
    assert spec is not None
    assert spec.loader is not None
    draw = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(draw)
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    drawn = (ROOT / "docs" / "images" / "cluster-scale.svg").read_text()
    assert drawn == draw.picture(page), "run python scripts/draw_cluster.py"
    assert [row["nodes"] for row in draw.rows(page)] == ["1", "8", "64", "512"]
