"""How far two raters agree beyond what chance would have them do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from proctor.stats.intervals import Interval, check_level


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of `n` things that both judged, `agreed` alike. `kappa` is None where chance alone would have them agree on
    everything: both gave one and the same answer throughout. `interval` is None without kappa, and where it would have
    width 0, as with full agreement."""

    n: int
    agreed: int
    kappa: float | None
    interval: Interval | None


def cohens_kappa(a: np.ndarray, b: np.ndarray, level: float = 0.95) -> Agreement:
    """Cohen's kappa of two raters' answers, yes or no, with the interval of its large-sample standard error (Fleiss,
    Cohen and Everitt 1969), cut at -1 and 1: an order of magnitude below about 30 things."""
    check_level(level)
    a, b = np.asarray(a, dtype=bool), np.asarray(b, dtype=bool)
    if a.shape != b.shape:
        raise ValueError(f"{a.size} answers against {b.size}; two raters answer for the same things")
    table = np.array([[np.count_nonzero((a == x) & (b == y)) for y in (True, False)] for x in (True, False)])
    n, agreed = int(table.sum()), int(np.trace(table))
    if n == 0:
        return Agreement(0, 0, None, None)
    shares = table / n
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    seen, chance = float(np.trace(shares)), float(rows @ columns)
    if chance == 1:
        return Agreement(n, agreed, None, None)
    kappa = (seen - chance) / (1 - chance)
    error = _standard_error(shares, kappa, chance, n)
    if error == 0:
        return Agreement(n, agreed, kappa, None)
    half = NormalDist().inv_cdf(0.5 + level / 2) * error
    return Agreement(n, agreed, kappa, Interval(max(-1.0, kappa - half), min(1.0, kappa + half)))


def _standard_error(shares: np.ndarray, kappa: float, chance: float, n: int) -> float:
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    alike = sum(shares[i, i] * (1 - (rows[i] + columns[i]) * (1 - kappa)) ** 2 for i in range(2))
    apart = (1 - kappa) ** 2 * sum(shares[i, 1 - i] * (columns[i] + rows[1 - i]) ** 2 for i in range(2))
    variance = (alike + apart - (kappa - chance * (1 - kappa)) ** 2) / (n * (1 - chance) ** 2)
    return math.sqrt(variance) if variance > 1e-15 else 0.0
