"""The rliable side: `python rliable_side.py RUNS TASKS REPLICATES`, in an environment that has rliable. Prints, as
JSON, the seconds that one stratified bootstrap of the interquartile mean took, its interval, and point estimates."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from rliable import library, metrics  # pyright: ignore[reportMissingImports]


def main(runs: int, tasks: int, replicates: int) -> None:
    rng = np.random.default_rng(0)
    scores, others = rng.random((runs, tasks)) ** 2, rng.random((runs, tasks)) ** 2
    tau = np.linspace(0, 1, 21)
    started = time.perf_counter()
    _, interval = library.get_interval_estimates(
        {"agent": scores}, lambda x: np.array([metrics.aggregate_iqm(x)]), reps=replicates
    )
    seconds = time.perf_counter() - started
    profiles, _ = library.create_performance_profile({"agent": scores}, tau, reps=10)
    found = {
        "mean": metrics.aggregate_mean(scores),
        "median": metrics.aggregate_median(scores),
        "iqm": metrics.aggregate_iqm(scores),
        "gap": metrics.aggregate_optimality_gap(scores, 0.8),
        "improvement": metrics.probability_of_improvement(scores, others),
    }
    found |= {f"profile {t:.2f}": share for t, share in zip(tau, profiles["agent"], strict=True)}
    ends = {"low": interval["agent"][0, 0], "high": interval["agent"][1, 0]}
    print(json.dumps({name: float(value) for name, value in {"seconds": seconds, **ends, **found}.items()}))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
