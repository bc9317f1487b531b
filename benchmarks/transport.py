"""Exact transport against `ot.emd2`, called as is usual for motion tracking: a cost matrix from the float32
expansion of the squared distance in torch, and at most 100,000 iterations. `python -m benchmarks emd` takes 60 mixed
motions; `python -m benchmarks.transport --motions 1000` takes as many as you like.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np

from benchmarks.motions import FRAMES, JOINTS, Pair, mixed, some
from benchmarks.table import Row, machine, markdown

GOALS = {"good": 15, "fallen": 6, "unrelated": 0, "unequal": 5, "lying": 0}
"""How many times as fast as `ot.emd2`, one thread; 0: none is set."""
MIX_GOALS = {1: 10, 2: 18}
"""The same for mixed motions, by number of threads; `ot.emd2` has one."""


def emd(repeats: int, motions: int = 60) -> list[Row]:
    """Exact transport of 29 joints x 500 frames: good, fallen, unrelated, stopped and lying agents, and a mix."""
    from proctor.metrics.transport import emd_many

    emd_many([(np.zeros((2, 1)), np.ones((3, 1)))])
    rows = [_row(f"EMD, {kind}", some(kind, 12), (1, goal), repeats) for kind, goal in GOALS.items()]
    pairs = mixed(motions)
    rows += [_row(f"EMD, {len(pairs)} mixed motions", pairs, goal, repeats) for goal in MIX_GOALS.items()]
    return [*rows, _memory(pairs[0])]


def _row(name: str, pairs: Sequence[Pair], wanted: tuple[int, int], repeats: int) -> Row:
    from proctor.metrics.transport import emd_many

    threads, goal = wanted
    ours, theirs, values, others = [], [], np.empty(0), np.empty(0)
    for _ in range(repeats):
        seconds, values = _timed(lambda: emd_many(pairs, threads))
        ours.append(len(pairs) / seconds)
        seconds, others = _timed(lambda: np.array([pot(a, b) for a, b in pairs]))
        theirs.append(len(pairs) / seconds)
    ratio = median(a / b for a, b in zip(ours, theirs, strict=True))
    named = f"{name}, {threads} thread{'s' * (threads > 1)}"
    apart = np.abs(others / values - 1).max()
    note = f"{JOINTS} joints, {FRAMES} frames; the other's values are up to {apart:.1e} off, relatively"
    met = ratio >= goal if goal else None
    return Row(
        named, median(ours), median(theirs), "ot.emd2", "motions/s", f"at least {goal}" * bool(goal), met, ratio, note
    )


def _memory(pair: Pair) -> Row:
    from proctor.metrics.transport import Workspace
    from proctor.metrics.transport import emd as distance

    workspace = Workspace()
    distance(*pair, workspace)
    each = workspace.nbytes / (len(pair[0]) * len(pair[1]))
    return Row("EMD, table", each, 10, "the goal", "bytes per frame pair", "at most 1", each <= 10, each / 10)


def _timed(work: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    started = time.perf_counter()
    values = work()
    return time.perf_counter() - started, values


def pot(a: np.ndarray, b: np.ndarray) -> float:
    """The distance as public tracking code computes it, on one thread."""
    import ot
    import torch

    torch.set_num_threads(1)
    x, y = torch.from_numpy(a.astype(np.float32)), torch.from_numpy(b.astype(np.float32))
    squares = (x * x).sum(1)[:, None] + (y * y).sum(1)[None, :] - 2 * x @ y.T
    cost = torch.sqrt(torch.clamp(squares, min=0)).numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value: Any = ot.emd2(np.full(len(a), 1 / len(a)), np.full(len(b), 1 / len(b)), cost, numItermax=100_000)
    return float(value)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.transport", description=emd.__doc__)
    parser.add_argument("--motions", type=int, default=60, help="how many mixed motions")
    parser.add_argument("--repeats", type=int, default=3, help="how often each side is run; medians are kept")
    arguments = parser.parse_args()
    described = machine()
    print(f"{described}\n\n{markdown(emd(arguments.repeats, arguments.motions))}")


if __name__ == "__main__":
    main()
