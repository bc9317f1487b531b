"""Distances between two point clouds: exact ones on demand, and a table of certified lower bounds.

Compiled code; imported by `proctor.metrics.transport.solve` only, when a transport problem is solved.

The table is what makes a solver fast, and it is never trusted. It holds `floor(scale * bound)` as int32, where
`bound <= |a_i - b_j|` for every pair, from products in float32; entries are replaced by the distance itself
when that has been computed. Whatever is decided is decided with `exact`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

UNIT = 2.0**-24
"""Rounding unit of float32."""
FIXED_REACH = 2.0**26
"""Fixed-point value of the largest possible distance. Duals may be 16 times as large before int32 is too small."""

njit_plain = njit(nogil=True, error_model="numpy")
njit_fast = njit(nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


class Costs(NamedTuple):
    """A transport problem at one resolution: clouds `a` (n, d) and `b` (m, d), the table `fixed` (n, m) int32 of
    lower bounds, and fixed-point units per unit of distance."""

    a: np.ndarray
    b: np.ndarray
    fixed: np.ndarray
    scale: float


@njit_fast
def exact(a, b, i, j):
    """The Euclidean distance of a[i] and b[j] from direct differences."""
    total = 0.0
    for k in range(a.shape[1]):
        difference = a[i, k] - b[j, k]
        total += difference * difference
    return math.sqrt(total)


@njit_plain
def span(a, b):
    """Diagonal of the box around both clouds: no distance is larger."""
    total = 0.0
    for k in range(a.shape[1]):
        low = high = a[0, k]
        for i in range(a.shape[0]):
            low = min(low, a[i, k])
            high = max(high, a[i, k])
        for j in range(b.shape[0]):
            low = min(low, b[j, k])
            high = max(high, b[j, k])
        total += (high - low) ** 2
    return math.sqrt(total)


@njit_plain
def pooled(points, size):
    """Means of consecutive groups of `size` rows; the last group may be smaller."""
    n, d = points.shape
    means = np.zeros(((n + size - 1) // size, d))
    for i in range(n):
        for k in range(d):
            means[i // size, k] += points[i, k]
    for g in range(means.shape[0]):
        count = min(size, n - g * size)
        for k in range(d):
            means[g, k] /= count
    return means


@njit_plain
def fill(costs):
    """Write the lower bounds of all pairs into the table."""
    a, b, fixed, scale = costs.a, costs.b, costs.fixed, costs.scale
    d = a.shape[1]
    middle = (a[0] + b[0]) / 2
    largest = max(np.abs(a).max(), np.abs(b).max())
    margin = np.float32(min(32.0 + 8 * 2.0**-52 * largest * math.sqrt(d) * scale, FIXED_REACH))
    x, x_norm = _centred(a, middle, -2.0)
    y, y_norm = _centred(b, middle, 1.0)
    columns = np.ascontiguousarray(y.T)
    products = np.empty((4, columns.shape[1]), np.float32)
    for i in range(0, a.shape[0], 4):
        for r in range(4):
            products[r] = y_norm + x_norm[i + r]
        for k in range(0, columns.shape[0], 4):
            _add_products(x[i : i + 4, k : k + 4], columns[k : k + 4], products)
        for r in range(min(4, a.shape[0] - i)):
            _to_fixed(products[r], np.float32(scale), margin, fixed[i + r])


@njit_plain
def _centred(points, middle, factor):
    """Points minus `middle`, times `factor`, in float32, padded with zeros to multiples of four rows and columns; and
    their squared norms without the factor, lowered by what products in float32 can be wrong."""
    n, d = points.shape
    out = np.zeros(((n + 3) // 4 * 4, (d + 3) // 4 * 4), np.float32)
    norms = np.zeros(out.shape[0], np.float32)
    keep = 1 - 4 * (d + 8) * UNIT
    for i in range(n):
        total = 0.0
        for k in range(d):
            value = np.float32(points[i, k] - middle[k])
            out[i, k] = value * np.float32(factor)
            total += float(value) * float(value)
        norms[i] = total * keep
    return out, norms


@njit_fast
def _add_products(x, y, out):
    """`out += x @ y` for 4 rows and 4 terms."""
    x00, x01, x02, x03 = x[0, 0], x[0, 1], x[0, 2], x[0, 3]
    x10, x11, x12, x13 = x[1, 0], x[1, 1], x[1, 2], x[1, 3]
    x20, x21, x22, x23 = x[2, 0], x[2, 1], x[2, 2], x[2, 3]
    x30, x31, x32, x33 = x[3, 0], x[3, 1], x[3, 2], x[3, 3]
    y0, y1, y2, y3 = y[0], y[1], y[2], y[3]
    out0, out1, out2, out3 = out[0], out[1], out[2], out[3]
    for j in range(out0.shape[0]):
        v0, v1, v2, v3 = y0[j], y1[j], y2[j], y3[j]
        out0[j] += x00 * v0 + x01 * v1 + x02 * v2 + x03 * v3
        out1[j] += x10 * v0 + x11 * v1 + x12 * v2 + x13 * v3
        out2[j] += x20 * v0 + x21 * v1 + x22 * v2 + x23 * v3
        out3[j] += x30 * v0 + x31 * v1 + x32 * v2 + x33 * v3


@njit_fast
def _to_fixed(squares, scale, margin, out):
    zero = np.float32(0.0)
    for j in range(out.shape[0]):
        out[j] = np.int32(max(math.sqrt(max(squares[j], zero)) * scale - margin, zero))
