"""How long the reports of a large run take, and how much memory.

`python -m benchmarks.report_scale [--trials 100000]` makes up a ledger and writes its reports in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import numpy as np

from benchmarks.table import Row
from proctor.config.models import AgentCfg, EvalConfig, TaskCfg
from proctor.plan.plan import Plan
from proctor.record.rundir import RunDir

AGENTS, TASKS = 4, 5
SECONDS, MEBIBYTES = 20.0, 1024.0
"""The goals, for a million trials."""
COLUMNS = (
    "agent, task, idx, seed, agent_position, task_position, state, attempts, outcome, success, steps_total, "
    "steps_to_success, episode_reward, max_steps, clipped_steps, wall_time_s, sim_time_s, metrics, error, npz, digest, "
    "trace"
)


def report(repeats: int, trials: int = 100_000) -> list[Row]:
    """Reports of a run with 100,000 trials; the goals are for ten times as many."""
    with tempfile.TemporaryDirectory() as folder:
        path = made_up(Path(folder), trials)
        rounds = [measure(path) for _ in range(repeats)]
    seconds = sorted(found["seconds"] for found in rounds)[len(rounds) // 2]
    peak = max(found["peak_mib"] for found in rounds)
    name, share = f"reports of {trials:,} trials", trials / 1_000_000
    goal = SECONDS * share
    met = seconds <= goal
    return [
        Row(f"{name}, time", seconds, goal, "the goal", "s", "at most 1", met, seconds / goal),
        Row(f"{name}, memory", peak, MEBIBYTES, "the goal", "MiB", "at most 1", peak <= MEBIBYTES, peak / MEBIBYTES),
    ]


def made_up(folder: Path, trials: int) -> Path:
    """A run folder with so many finished trials: 4 agents of different skill on 5 tasks, six metrics each."""
    cfg = EvalConfig(
        name="large",
        agents=tuple(AgentCfg(name=f"agent{i}", policy="random") for i in range(AGENTS)),
        tasks=tuple(TaskCfg(suite="gymnasium", name=f"task{i}") for i in range(TASKS)),
        n_trials=math.ceil(trials / (AGENTS * TASKS)),
        output_root=str(folder),
    )
    run = RunDir.create(cfg, datetime(2026, 1, 5, 12))
    with run.ledger() as ledger:
        ledger.set_meta("shard", "1/1")
        ledger._db.execute("BEGIN")
        ledger._db.executemany(f"INSERT INTO trials ({COLUMNS}) VALUES ({', '.join('?' * 22)})", _rows(cfg))
        ledger._db.execute("COMMIT")
    return run.path


def _rows(cfg: EvalConfig) -> Iterator[tuple[object, ...]]:
    plan = Plan(cfg)
    for a, agent in enumerate(plan.agents):
        for t, task in enumerate(plan.tasks):
            rng = np.random.default_rng([a, t])
            n = cfg.n_trials
            success = rng.random(n) < 0.9 - 0.15 * a - 0.05 * t
            broken = rng.random(n)
            steps = np.where(success, rng.integers(60, 180, n), 400)
            reward, force, speed = rng.normal(10, 3, n), rng.gamma(2, 0.12, n), rng.gamma(4, 5, n)
            wall, rate, ratio = rng.gamma(3, 0.4, n), rng.gamma(2, 0.1, n), rng.random(n)
            words = rng.integers(2**62, size=n)
            for i in range(n):
                outcome, error = ("success", None) if success[i] else ("truncated", None)
                if broken[i] < 0.01:
                    outcome, error = (
                        ("policy_error", "ValueError: 3 frames expected")
                        if broken[i] < 0.005
                        else ("env_error", "FatalError: unstable at 1.84 s\nTraceback")
                    )
                ok = outcome == "success"
                metrics = {
                    "tip_speed_max_mm_s": float(speed[i]),
                    "tip_speed_mean_mm_s": float(speed[i]) / 3,
                    "wall_wire_force_norm_max": float(force[i]),
                    "wall_force_max": float(force[i]),
                    "action_rate_mean": float(rate[i]),
                    "path_ratio_last": None if ratio[i] < 0.1 else float(ratio[i]),
                }
                yield (
                    agent, task, i, cfg.base_seed + i, a, t, "done", 1, outcome, int(ok), int(steps[i]),
                    int(steps[i]) if ok else None, float(reward[i]), 400, int(broken[i] > 0.95), float(wall[i]),
                    float(steps[i]) * 0.02, json.dumps(metrics), error, f"trials/{agent}__{task}_trial{i:04d}.npz",
                    f"{int(words[i]):064x}", f"{int(words[i]):016x}" + "0" * 48,
                )  # fmt: skip


def measure(run: Path) -> dict[str, float]:
    """Seconds and peak memory of `proctor report` on a folder, in a new process."""
    command = [sys.executable, "-m", "benchmarks.report_scale", "--write", str(run)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def write(run: Path) -> None:
    import resource

    from proctor.runs.report import write_report

    started = time.perf_counter()
    write_report(RunDir.open(run))
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak_mib": peak}))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report_scale", description=__doc__)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--write", type=Path, metavar="RUN", help="write the reports of this folder and measure it")
    arguments = parser.parse_args()
    if arguments.write is not None:
        write(arguments.write)
        return 0
    rows = report(1, arguments.trials)
    for row in rows:
        print(f"{row.name}: {row.proctor:.1f} {row.unit} (at most {row.other:.0f})")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
