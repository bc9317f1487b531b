"""Comparing two runs of many trials: the whole command, from a cold start to its files.

`python -m benchmarks.comparing [--trials 100000]` makes two run folders of made-up outcomes and times
`proctor compare` on them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.table import Row
from proctor.config.models import AgentCfg, EvalConfig, TaskCfg
from proctor.plan.plan import Plan
from proctor.record.rundir import RunDir
from proctor_host.episode import Outcome
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

TRIALS, TASKS, GOAL_S = 100_000, 4, 3.0


def comparing(repeats: int) -> list[Row]:
    """`proctor compare BASE NEW`, two runs of 100,000 trials each: paired tests, intervals, all files."""
    with tempfile.TemporaryDirectory() as folder:
        base, new = made(Path(folder) / "base", 0.83, TRIALS), made(Path(folder) / "new", 0.84, TRIALS)
        seconds = median(timed(base, new) for _ in range(repeats))
    name = f"compare two runs of {TRIALS:,} trials"
    return [
        Row(name, seconds, GOAL_S, "the goal", "s", f"under {GOAL_S:g} s", seconds < GOAL_S, seconds / GOAL_S,
            "the whole command, Python's start included")
    ]  # fmt: skip


def made(root: Path, rate: float, trials: int) -> RunDir:
    """A run folder with one agent and made-up outcomes; seeds matter, so runs of different rates are correlated."""
    cfg = EvalConfig(
        name="made-up",
        agents=(AgentCfg(name="agent", policy="random"),),
        tasks=tuple(TaskCfg(suite="gymnasium", name=f"task-{i}") for i in range(TASKS)),
        n_trials=trials // TASKS,
        output_root=str(root),
    )
    run = RunDir.create(cfg, datetime.now())
    rng = np.random.default_rng(int(1000 * rate))
    with run.ledger() as ledger:
        ledger.add(Plan(cfg).placed())
        ledger.finish(result(trial, rate, rng) for trial in Plan(cfg))
    return run


def result(trial: Trial, rate: float, rng: np.random.Generator) -> TrialResult:
    hard = np.random.default_rng(trial.seed).random()
    won = bool(0.6 * hard + 0.4 * rng.random() < rate)
    steps = int(20 + 160 * hard)
    return TrialResult(
        trial=trial,
        outcome=Outcome.SUCCESS if won else Outcome.TRUNCATED,
        success=won,
        steps_total=steps,
        steps_to_success=steps if won else None,
        episode_reward=float(rng.normal()),
        max_steps=200,
        metrics={"tip_speed_max_mm_s": float(rng.gamma(4, 5)), "wall_wire_force_norm_max": float(rng.gamma(2, 0.1))},
        trace=f"{int(rng.integers(1, 2**62)):016x}" + "0" * 48,
    )


def timed(base: RunDir, new: RunDir) -> float:
    command = [str(Path(sys.executable).with_name("proctor")), "compare", str(base.path), str(new.path), "--quiet"]
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.comparing", description="Time a comparison.")
    parser.add_argument("--trials", type=int, default=TRIALS, help="of each run")
    trials = parser.parse_args().trials
    with tempfile.TemporaryDirectory() as folder:
        base, new = made(Path(folder) / "base", 0.83, trials), made(Path(folder) / "new", 0.84, trials)
        print(f"{timed(base, new):.2f} s for two runs of {trials:,} trials")


if __name__ == "__main__":
    main()
