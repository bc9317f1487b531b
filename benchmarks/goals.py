"""Goal metrics against the bare matrix products, and against a loop over pairs. `python -m benchmarks goals` takes
1,000 tasks with 100 success visuals each, in 512 dimensions; `python -m benchmarks.goals --large` measures the memory
of 10,000 goals against 100,000 visuals.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from benchmarks.table import Row, machine, markdown

K, DRAWS, WORDINGS = 5, 10, 5
NAIVE_PAIRS = 20_000
MEMORY_GOAL_MB = 64


@dataclass(frozen=True, eq=False)
class Case:
    """Unit vectors: goals (t, d), draws (t, s, d), wordings (t, w, d), visuals (t n, d)."""

    goals: np.ndarray
    draws: np.ndarray
    wordings: np.ndarray
    visuals: np.ndarray
    offsets: np.ndarray

    @property
    def size(self) -> str:
        t, d = self.goals.shape
        return f"{t:,} tasks x {len(self.visuals) // t} visuals x {d}"


def case(tasks: int, visuals: int, dim: int) -> Case:
    """Made up: visuals around a centre for each task, goals near it."""
    rng = np.random.default_rng(0)
    centres = _units(rng.standard_normal((tasks, 1, dim), dtype=np.float32))

    def around(count: int, noise: float) -> np.ndarray:
        return _units(centres + noise * rng.standard_normal((tasks, count, dim), dtype=np.float32) / np.sqrt(dim))

    goals, pictures = around(1, 0.5)[:, 0], around(visuals, 2.0).reshape(-1, dim)
    return Case(goals, around(DRAWS, 0.3), around(WORDINGS, 0.3), pictures, np.arange(tasks + 1) * visuals)


def _units(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def pairwise(made: Case) -> dict[str, Any]:
    """Every pairwise metric: accuracy, discriminability, consistency, robustness, variance."""
    from proctor.suites.goals.metrics.pairwise import mean_pairwise, own_cosines, task_variance

    cosines = own_cosines(made.goals, made.visuals, made.offsets)
    return {
        "accuracy": [own.mean(dtype=np.float64) for own in np.split(cosines, made.offsets[1:-1])],
        "discriminability": 1 - float(mean_pairwise(made.goals)),
        "consistency": mean_pairwise(made.draws),
        "robustness": mean_pairwise(made.wordings),
        "variance": task_variance(made.goals[:, None]),
    }


def bare_products(made: Case) -> list[np.ndarray]:
    """The matrix products that such metrics are usually read from, and nothing else."""
    t, d = made.goals.shape
    return [
        made.visuals.reshape(t, -1, d) @ made.goals[:, :, None],
        made.goals @ made.goals.T,
        made.draws @ made.draws.transpose(0, 2, 1),
        made.wordings @ made.wordings.transpose(0, 2, 1),
    ]


def bare_scores(made: Case) -> None:
    """Cosines of all goals with all visuals, in the blocks of the retrieval, and nothing else."""
    from proctor.suites.goals.metrics.retrieval import COLUMNS, ROWS

    out = np.empty((min(ROWS, len(made.goals)), COLUMNS), np.float32)
    for row in range(0, len(made.goals), ROWS):
        goals = made.goals[row : row + ROWS]
        for column in range(0, len(made.visuals), COLUMNS):
            part = made.visuals[column : column + COLUMNS]
            np.matmul(goals, part.T, out=out[: len(goals), : len(part)])


def naive(made: Case, pairs: int) -> float:
    """Seconds for so many cosines, pair by pair, as the loop of an evaluation script takes them."""
    rng = np.random.default_rng(1)
    rows, columns = rng.integers(len(made.goals), size=pairs), rng.integers(len(made.visuals), size=pairs)
    started, kept = time.perf_counter(), []
    for row, column in zip(rows, columns, strict=True):
        a, b = made.goals[row], made.visuals[column]
        kept.append(float(np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b))))
    return time.perf_counter() - started


def goals(repeats: int, tasks: int = 1000, visuals: int = 100, dim: int = 512) -> list[Row]:
    """Goal metrics of 1,000 tasks x 100 visuals x 512 against the bare matrix products and a loop over pairs."""
    from proctor.suites.goals.metrics.retrieval import nearest

    made = case(tasks, visuals, dim)
    ours, bare = _in_turn(repeats, lambda: pairwise(made), lambda: bare_products(made))
    found, scores = _in_turn(repeats, lambda: nearest(made.goals, made.visuals, K), lambda: bare_scores(made))
    each = naive(made, NAIVE_PAIRS) / NAIVE_PAIRS
    note = f"{NAIVE_PAIRS:,} pairs were looped over, and the time taken for all"
    rows = [
        _row(f"pairwise goal metrics, {made.size}", ours, bare, ("the bare products", 2)),
        _row(f"the {K} nearest visuals, {made.size}", found, scores, ("the bare products", 3)),
    ]
    for name, own, count in (
        ("pairwise goal metrics", ours, _pairs(made)),
        (f"the {K} nearest visuals", found, len(made.goals) * len(made.visuals)),
    ):
        loop = each * count
        rows.append(Row(f"{name}, {count:,} pairs", median(own), loop, "a loop over pairs", "s", "", None,
                        median(own) / loop, note))  # fmt: skip
    return rows


def _pairs(made: Case) -> int:
    t = len(made.goals)
    return len(made.visuals) + t * (t - 1) // 2 + t * (DRAWS * (DRAWS - 1) + WORDINGS * (WORDINGS - 1)) // 2


def _row(name: str, ours: list[float], bare: list[float], wanted: tuple[str, float]) -> Row:
    other, goal = wanted
    ratio = median(a / b for a, b in zip(ours, bare, strict=True))
    return Row(name, median(ours), median(bare), other, "s", f"at most {goal:g}", ratio <= goal, ratio)


def _in_turn(repeats: int, *work: Callable[[], Any]) -> list[list[float]]:
    """Seconds of each, run in turn; the first round is not counted."""
    rounds = [[_seconds(one) for one in work] for _ in range(repeats + 1)][1:]
    return [list(column) for column in zip(*rounds, strict=True)]


def _seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def memory(queries: int = 10_000, visuals: int = 100_000, dim: int = 512) -> Row:
    """The largest memory that a retrieval takes beside its input, as numpy reports it."""
    from proctor.suites.goals.metrics.retrieval import nearest

    rng = np.random.default_rng(0)
    goals, pictures = (_units(rng.standard_normal((n, dim), dtype=np.float32)) for n in (queries, visuals))
    tracemalloc.start()
    started = time.perf_counter()
    nearest(goals, pictures, K)
    seconds, peak_mb = time.perf_counter() - started, tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    dense_mb = 4 * queries * visuals / 1e6
    note = f"it took {seconds:.1f} s; all cosines at once would be {dense_mb:,.0f} MB"
    name = f"memory of the {K} nearest, {queries:,} goals x {visuals:,} visuals"
    return Row(name, peak_mb, MEMORY_GOAL_MB, "the goal", "MB", "at most 1", peak_mb <= MEMORY_GOAL_MB,
               peak_mb / MEMORY_GOAL_MB, note)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.goals", description=goals.__doc__)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3, help="how often each side is run; medians are kept")
    parser.add_argument("--large", action="store_true", help="the memory of 10,000 goals x 100,000 visuals, too")
    arguments = parser.parse_args()
    described = machine()
    rows = goals(arguments.repeats, arguments.tasks)
    print(f"{described}\n\n{markdown([*rows, memory()] if arguments.large else rows)}")


if __name__ == "__main__":
    main()
