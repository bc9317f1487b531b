"""The bootstrap against rliable's, and the coverage of its intervals.

`python -m benchmarks.intervals` measures both; `python -m benchmarks.statistics [--draws 2000]` prints the coverage
table: how often 95 % intervals hold the true value, on data whose truth is known.
"""

from __future__ import annotations

import argparse
import sys
import time
import venv
from statistics import median

import numpy as np

from benchmarks import sides
from benchmarks.table import Row
from proctor.stats import (
    IQM,
    MEAN,
    MEDIAN,
    TRIAL_MEDIAN,
    Aggregate,
    Resampling,
    bootstrap,
    optimality_gap,
    performance_profile,
    probability_of_improvement,
)

RLIABLE = "rliable==1.2.0"
PANDAS = "pandas<3"
"""The arch package that rliable draws with does not import with pandas 3."""
RUNS, TASKS, REPLICATES, GOAL = 50, 10, 50_000, 50.0
AGGREGATES = {"mean": MEAN, "median": MEDIAN, "iqm": IQM, "gap": optimality_gap(0.8)}


def statistics(repeats: int) -> list[Row]:
    """Stratified bootstrap of the interquartile mean, 50 x 10 scores, 50,000 replicates; rliable in its own process."""
    bootstrap(_strata(0), IQM, resampling=Resampling(10))
    rounds = [(ours(), rliable()) for _ in range(repeats)]
    apart = max(abs(value - rounds[0][1][name]) for name, value in estimates().items())
    proctor, other = (REPLICATES / median(side["seconds"] for side in column) for column in zip(*rounds, strict=True))
    ratio = median(theirs["seconds"] / mine["seconds"] for mine, theirs in rounds)
    return [
        Row(
            name=f"stratified bootstrap IQM, {RUNS} x {TASKS} scores, {REPLICATES:,} replicates",
            proctor=proctor,
            other=other,
            other_is=RLIABLE,
            unit="replicates/s",
            goal=f"at least {GOAL:g}",
            met=ratio >= GOAL and apart <= 1e-12,
            ratio=ratio,
            note=f"BCa here, percentiles there; point estimates are at most {apart:.1e} apart (1e-12 allowed)",
        )
    ]


def ours() -> sides.Measured:
    started = time.perf_counter()
    found = bootstrap(_strata(0), IQM, resampling=Resampling(REPLICATES))
    seconds = time.perf_counter() - started
    assert found.interval is not None
    return {"seconds": seconds, "low": found.interval.low, "high": found.interval.high}


def estimates() -> dict[str, float]:
    """What rliable's side estimates, by the same names."""
    strata, tau = _strata(0), np.linspace(0, 1, 21)
    found = {name: aggregate.of(strata) for name, aggregate in AGGREGATES.items()}
    improvement = probability_of_improvement(strata, _strata(1), resampling=Resampling(10)).value
    assert improvement is not None
    shares = performance_profile(strata, tau, resampling=Resampling(10)).shares
    return found | {"improvement": improvement} | {f"profile {t:.2f}": s for t, s in zip(tau, shares, strict=True)}


def rliable() -> sides.Measured:
    """Seconds and point estimates of rliable, in an environment of its own that is made on first use."""
    python, done = sides.VLA_EVAL_ENV / "bin" / "python", sides.VLA_EVAL_ENV / RLIABLE
    if not done.exists():
        print(f"installing {RLIABLE} into {sides.VLA_EVAL_ENV.name} ...", file=sys.stderr, flush=True)
        if not python.exists():
            venv.create(sides.VLA_EVAL_ENV, with_pip=True)
        sides.output([str(python), "-m", "pip", "install", RLIABLE, PANDAS])
        done.touch()
    script = sides.ROOT / "benchmarks" / "rliable_side.py"
    return sides._json([str(python), str(script), str(RUNS), str(TASKS), str(REPLICATES)])


def _strata(which: int) -> list[np.ndarray]:
    """The scores of one of two agents, task by task, as rliable's side draws them."""
    rng = np.random.default_rng(0)
    agents = [rng.random((RUNS, TASKS)) ** 2 for _ in range(2)]
    return list(agents[which].T)


DATA = {
    "normal": lambda rng, n: rng.normal(size=n),
    "skewed (exponential)": lambda rng, n: rng.exponential(size=n),
    "bounded (beta 0.5, 2)": lambda rng, n: rng.beta(0.5, 2, size=n),
}
SIZES = (5, 10, 20, 50, 100)


def coverage(kind: str, n: int, aggregate: Aggregate, draws: int, seed: int = 0) -> float:
    """The share of samples of n values whose 95 % interval holds the true value."""
    rng = np.random.default_rng([seed, n])
    truth = aggregate.of([DATA[kind](np.random.default_rng(12345), 4_000_000)])
    hits = 0
    for i in range(draws):
        interval = bootstrap([DATA[kind](rng, n)], aggregate, resampling=Resampling(1000, i, threads=1)).interval
        hits += interval is not None and interval.low <= truth <= interval.high
    return hits / draws


def coverage_table(draws: int) -> str:
    shown = {"mean": MEAN, "IQM": IQM, "median": TRIAL_MEDIAN, "optimality gap to 0.5": optimality_gap(0.5)}
    lines = [f"| data | aggregate | {' | '.join(f'n = {n}' for n in SIZES)} |", "|---|---|" + "---:|" * len(SIZES)]
    for kind in DATA:
        for name, aggregate in shown.items():
            cells = " | ".join(f"{100 * coverage(kind, n, aggregate, draws):.1f}" for n in SIZES)
            lines.append(f"| {kind} | {name} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.intervals", description="Print the coverage table.")
    parser.add_argument("--draws", type=int, default=2000, help="samples per cell")
    arguments = parser.parse_args()
    print(f"Coverage in % of 95 % intervals, {arguments.draws:,} samples per cell, 1,000 resamples each.\n")
    print(coverage_table(arguments.draws))


if __name__ == "__main__":
    main()
