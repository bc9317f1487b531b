"""Exact earth mover's distance between two sequences of frames: optimal transport with equal weights and Euclidean
cost.

The value is that of a network simplex run to convergence on float64 distances from direct differences; the order of
frames does not matter. How it is computed, and why it is quick, is in docs/transport.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import local

import numpy as np
from numpy.typing import ArrayLike

from proctor.errors import InputError
from proctor.threads import cores

FIXED_REACH = 2.0**26
"""Fixed-point value of the largest possible distance. Duals may be 16 times as large before int32 is too small."""

__all__ = ["Workspace", "emd", "emd_many"]


class Workspace:
    """The memory that one thread needs: one table of int32 per pair of frames, kept for the next problem.

    A solver's other arrays grow with the number of frames, not of pairs.
    """

    def __init__(self) -> None:
        self._table = np.empty(0, np.int32)

    @property
    def nbytes(self) -> int:
        return self._table.nbytes

    def table(self, pairs: int) -> np.ndarray:
        """At least `pairs` elements, contents undefined."""
        if self._table.size < pairs:
            self._table = np.empty(0, np.int32)
            self._table = np.empty(pairs, np.int32)
        return self._table


def emd(a: ArrayLike, b: ArrayLike, workspace: Workspace | None = None) -> float:
    """The earth mover's distance between the rows of `a` (n, d) and `b` (m, d), in the unit of their entries.

    Every row of `a` has weight 1/n, every row of `b` 1/m; the cost of moving weight is the Euclidean distance. n and
    m may differ. Zero exactly if the rows are the same; the same for (b, a), for shuffled rows and for shifted
    clouds, up to rounding. Raises InputError for arrays that are empty, not two-dimensional, of different d, or not
    finite.
    """
    return _solve(*checked(a, b), workspace or Workspace())


def emd_many(pairs: Iterable[tuple[ArrayLike, ArrayLike]], threads: int | None = None) -> np.ndarray:
    """`emd` of every pair, (len(pairs),) float64, on `threads` threads (default: as many as there are cores).

    The values do not depend on the number of threads. A thread keeps one table of 4 bytes per pair of frames, as large
    as its largest problem. Raises InputError, with the number of the pair, before anything is computed.
    """
    if threads is not None and threads < 1:
        raise InputError(f"threads is {threads}, expected at least 1, or None for all cores")
    problems = [checked(a, b, f"pair {number}: ") for number, (a, b) in enumerate(pairs)]
    count = min(threads or cores(), len(problems))
    if count <= 1:
        workspace = Workspace()
        return np.array([_solve(a, b, workspace) for a, b in problems], dtype=np.float64)
    mine = local()

    def prepare() -> None:
        mine.workspace = Workspace()

    def solve(problem: tuple[np.ndarray, np.ndarray]) -> float:
        return _solve(*problem, mine.workspace)

    with ThreadPoolExecutor(count, initializer=prepare) as pool:
        return np.fromiter(pool.map(solve, problems), np.float64, len(problems))


def _solve(a: np.ndarray, b: np.ndarray, workspace: Workspace) -> float:
    if a.shape == b.shape and np.array_equal(a[-1], b[-1]) and np.array_equal(a, b):
        return 0.0
    from proctor.metrics.transport.solve import transport

    a, b, exponent = normalised(a, b)
    value, _ = transport(a, b, workspace.table(len(a) * len(b)), FIXED_REACH)
    return math.ldexp(value, exponent)


def warm() -> None:
    """Calls every kernel of exact transport once, so that it is compiled."""
    points = np.random.default_rng(0).standard_normal((24, 3))
    for other in (points + 0.001, points[:17], points[::-1] * 3.0):
        emd(points, other)


def checked(a: ArrayLike, b: ArrayLike, where: str = "") -> tuple[np.ndarray, np.ndarray]:
    """Both as float64 of shapes (n, d) and (m, d), all finite, n, m and d at least 1."""
    first, second = _points(a, f"{where}the first"), _points(b, f"{where}the second")
    if first.shape[1] != second.shape[1]:
        raise InputError(
            f"{where}frames of different size: the first has {first.shape[1]} columns, the second {second.shape[1]}; "
            f"pass the same joints or bodies in the same order on both sides"
        )
    return first, second


def _points(points: ArrayLike, which: str) -> np.ndarray:
    array = np.asarray(points)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{which} array holds {array.dtype}, expected real numbers; convert it to float64")
    if array.ndim != 2:
        raise InputError(
            f"{which} array has shape {array.shape}, expected (frames, columns); "
            f"reshape it, with everything that belongs to one frame in one row"
        )
    if not array.size:
        raise InputError(
            f"{which} array has shape {array.shape}, expected at least one frame and one column; "
            f"leave out episodes without steps"
        )
    array = np.ascontiguousarray(array, dtype=np.float64)
    finite = np.isfinite(array)
    if not finite.all():
        frame, column = np.argwhere(~finite)[0]
        raise InputError(
            f"{which} array has {array[frame, column]} at frame {frame}, column {column} "
            f"({(~finite).sum()} such values in all); cut the frames from there on, or count the motion as failed"
        )
    return array


def normalised(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Both divided by the power of two that brings the largest magnitude to between 1/2 and 1, and its exponent."""
    exponent = math.frexp(max(a.max(), -a.min(), b.max(), -b.min()))[1]
    if abs(exponent) > 1000:
        return np.ldexp(a, -exponent), np.ldexp(b, -exponent), exponent
    factor = math.ldexp(1.0, -exponent)
    return a * factor, b * factor, exponent
