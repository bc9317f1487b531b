"""Two workers and a replica on a Ray cluster of this machine, beside two worker processes whose policy the engine asks;
and what a step costs the process that drives the cluster."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator

from benchmarks import turns
from benchmarks.sides import ROOT, environment
from benchmarks.table import Row

TURNS = 40
CASES = {"busy2": ("2 ms a step", 0.90), "cameras": ("two 256x256 images", 0.85)}
DRIVER_US = 30.0
STEPS = 40_000
AS_OTHERS = "RAY_worker_niceness=0"
"""Ray gives its workers a low priority (15), beside which all else on a busy machine would be measured."""


def cluster(repeats: int) -> Iterator[Row]:
    """Two Ray workers that ask a replica directly, and two worker processes; the driver's CPU time per step."""
    for case, (said, goal) in CASES.items():
        command = [sys.executable, "-m", "benchmarks.endless", case]
        on_ray = ["env", AS_OTHERS, *command, "auto", "ray"]
        found = turns.rates({"ray": on_ray, "here": [*command, "engine"]}, TURNS * repeats)
        ratio, error = turns.ratio(found["ray"], found["here"])
        ray, here = (float(found[name].mean()) for name in ("ray", "here"))
        yield Row(
            f"{said}, 2 Ray workers",
            ray,
            here,
            "2 processes",
            "steps/s",
            f"{goal:.2f}",
            ratio >= goal,
            ratio,
            "",
            error,
        )
    for case, (said, _) in CASES.items():
        ours, theirs = driver_us(case, "ray"), driver_us(case, "process")
        goal, met = "under 30 us", ours < DRIVER_US
        yield Row(
            f"{said}, CPU of the driver",
            ours,
            theirs,
            "of the engine, 2 processes",
            "us/step",
            goal,
            met,
            ours / theirs,
        )


def driver_us(case: str, kind: str) -> float:
    """Microseconds of CPU time that the process of a run takes per step, beside those of its start and its end."""
    said = subprocess.run(
        [sys.executable, "-m", "benchmarks.cluster", case, kind], cwd=ROOT, env=environment(), check=True,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return float(json.loads(said.stdout.splitlines()[-1]))


def measure(case: str, kind: str) -> float:
    """Between two moments of a run that works on and on."""
    from benchmarks.endless import config
    from benchmarks.folders import run_folder
    from proctor import CancelToken, config_from_dict, run_evaluation
    from proctor.rollout.progress import Progress

    seen: list[tuple[int, float]] = []
    cancel = CancelToken()

    def observe(progress: Progress) -> None:
        if progress.phase == "running" and progress.steps > 2_000:
            seen.append((progress.steps, time.process_time()))
            if progress.steps - seen[0][0] > STEPS:
                cancel.cancel()

    asked = config(case, "auto", "ray") if kind == "ray" else config(case, "engine")
    with run_folder() as folder:
        run_evaluation(config_from_dict({**asked, "output_root": folder}), progress=observe, cancel=cancel)
    (first, began), (last, ended) = seen[0], seen[-1]
    return 1e6 * (ended - began) / (last - first)


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:])))
