"""The benchmark of the scaled-up policy runs, and counts time that forwards share once."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
ROOT = Path(__file__).parent.parent


def test_a_small_one_runs_on_a_processor() -> None:
    arguments = ("--size", "small", "--device", "cpu", "--slots", "2", "--workers", "1", "--episodes-per-slot", "1")
    command = [sys.executable, "-W", "error", "-m", "benchmarks.large_policy", *arguments, "--steps", "9"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    line = done.stdout.splitlines()[-1]
    assert re.search(r"2 slots: [\d,]+ episodes/hour, [\d.]+ forwards/s, a forward under way \d+%$", line), line


def test_overlapping_forwards_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.large_parts import SIZES, Log

    assert Log([(0.0, 2.0), (1.0, 3.0), (1.5, 2.5), (6.0, 8.0)]).busy() == pytest.approx(5 / 8)
    large = SIZES["large"]
    blocks = 12 * (large.planner.depth * large.planner.width**2 + large.expert.depth * large.expert.width**2)
    assert 1.5e9 < blocks + 7 * large.denoiser_depth * large.denoiser_width**2 < 2.5e9
