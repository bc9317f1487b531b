"""The benchmark of the scaled-up policy runs, and counts time that forwards share once."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("replicas", ["0", "2"])
def test_a_small_one_runs_on_a_processor(replicas: str) -> None:
    """Asked by the engine, and in two replicas, which both have to be asked before anything is measured."""
    if replicas != "0":
        pytest.importorskip("ray")
    arguments = ("--size", "small", "--device", "cpu", "--slots", "4", "--workers", "2", "--replicas", replicas)
    command = [sys.executable, "-m", "benchmarks.large_policy", *arguments, "--steps", "9", "--seconds", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    line = done.stdout.splitlines()[-1]
    rates = r"4 slots: [\d,]+ episodes/hour, [\d.]+ forwards/s of [1-4]\.\d rows, a forward under way \d+%$"
    assert re.search(rates, line), line
    assert ("2 replicas" in line) == (replicas == "2")


def test_forwards_are_read_from_all_processes_and_those_that_overlap_are_counted_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.large_parts import SIZES, Log

    (tmp_path / "1.log").write_text("7\nplan 0.0 2.0 3\nact 2.0 4.0 5\n")
    (tmp_path / "2.log").write_text("7\nact 1.0 3.0 4\nact 3.0 4.")
    read = Log.read(tmp_path)
    assert (read.parameters, read.asked("plan"), read.asked("act")) == (7, 3, 9)
    late = read.between(2.0, 5.0)
    assert late.asked("plan") == 0
    assert late.seconds() == 2.0

    assert Log([(0.0, 2.0), (1.0, 3.0), (1.5, 2.5), (6.0, 8.0)]).busy() == pytest.approx(5 / 8)
    large = SIZES["large"]
    blocks = 12 * (large.planner.depth * large.planner.width**2 + large.expert.depth * large.expert.width**2)
    assert 1.5e9 < blocks + 7 * large.denoiser_depth * large.denoiser_width**2 < 2.5e9
