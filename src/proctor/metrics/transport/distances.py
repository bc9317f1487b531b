"""Distances between two point clouds: exact ones on demand, and a table of certified lower bounds.

Compiled code; imported by `proctor.metrics.transport.solve` only, when a transport problem is solved.

The table is what makes a solver fast, and it is never trusted. It holds `floor(scale * bound)` as int32, where
`bound <= |a_i - b_j|` for every pair, from products in float32; entries are replaced by the distance itself
when that has been computed. Whatever is decided is decided with `exact`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

UNIT = 2.0**-24
"""Rounding unit of float32."""
LARGEST = np.int32(2**31 - 1)

INNER = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Options of functions that only compiled code calls; entries for other callers would take long to compile."""
jit: Any = njit
njit_plain = jit(**INNER)
njit_lean = jit(_nrt=False, **INNER)
"""For loops that allocate nothing: without counting of references, which costs more than most of what they do."""
njit_inline = jit(_nrt=False, forceinline=True, **INNER)
"""The same, for what they call: handing over a tuple of arrays is not free either."""
njit_fast = jit(_nrt=False, fastmath={"reassoc", "contract", "nsz"}, **INNER)
"""The same, where sums may be taken in any order."""


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
    largest = max(_largest(a), _largest(b))
    margin = np.float32(min(32.0 + 8 * 2.0**-52 * largest * math.sqrt(a.shape[1]) * scale, 2.0**30))
    x, x_norm = _centred(a, a[0], -2.0)
    y, y_norm = _centred(b, a[0], 1.0)
    squares = np.empty((4, y.shape[1]), np.float32)
    for i in range(0, a.shape[0], 4):
        _squares(x[:, i : i + 4], y, (x_norm[i : i + 4], y_norm), squares)
        for r in range(min(4, a.shape[0] - i)):
            _to_fixed(squares[r], np.float32(scale), margin, fixed[i + r])


@njit_fast
def _largest(points):
    """The largest magnitude."""
    largest = 0.0
    for i in range(points.shape[0]):
        for k in range(points.shape[1]):
            largest = max(largest, abs(points[i, k]))
    return largest


@njit_plain
def _centred(points, middle, factor):
    """Points minus `middle`, times `factor`, in float32, one column per point, padded with zeros to multiples of four;
    and their squared norms without the factor, lowered by what products in float32 can be wrong."""
    n, d = points.shape
    out = np.zeros(((d + 3) // 4 * 4, (n + 3) // 4 * 4), np.float32)
    norms = np.zeros(out.shape[1], np.float32)
    keep = 1 - 4 * (d + 8) * UNIT
    for i in range(n):
        total = 0.0
        for k in range(d):
            value = np.float32(points[i, k] - middle[k])
            out[k, i] = value * np.float32(factor)
            total += float(value) * float(value)
        norms[i] = total * keep
    return out, norms


@njit_fast
def _squares(x, y, norms, out):
    """Squared distances of 4 points `x` (d, 4) and all `y` (d, m), from their norms and products."""
    x_norm, y_norm = norms
    out0, out1, out2, out3 = out[0], out[1], out[2], out[3]
    for j in range(y.shape[1]):
        out0[j] = y_norm[j] + x_norm[0]
        out1[j] = y_norm[j] + x_norm[1]
        out2[j] = y_norm[j] + x_norm[2]
        out3[j] = y_norm[j] + x_norm[3]
    for k in range(0, x.shape[0], 4):
        x00, x01, x02, x03 = x[k, 0], x[k + 1, 0], x[k + 2, 0], x[k + 3, 0]
        x10, x11, x12, x13 = x[k, 1], x[k + 1, 1], x[k + 2, 1], x[k + 3, 1]
        x20, x21, x22, x23 = x[k, 2], x[k + 1, 2], x[k + 2, 2], x[k + 3, 2]
        x30, x31, x32, x33 = x[k, 3], x[k + 1, 3], x[k + 2, 3], x[k + 3, 3]
        y0, y1, y2, y3 = y[k], y[k + 1], y[k + 2], y[k + 3]
        for j in range(y.shape[1]):
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
