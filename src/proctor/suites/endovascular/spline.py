"""A distance field between the points of its grid: a quadratic spline, whose first derivatives are continuous.

The solver needs value, gradient and second derivatives of one and the same function, or its search would not settle.
It is compiled into `solver.advance`.
"""

from __future__ import annotations

from proctor.kernels import kept


@kept(nogil=True, error_model="numpy")
def sample(field, px, py, pz):
    """The field at a point as a quadratic spline: value, gradient (x, y, z), second derivatives (xx, yy, zz, xy, xz,
    yz). Outside the grid those of its nearest point; NaN counts as its first."""
    f, h = field.values, field.spacing
    ux, uy, uz = (px - field.origin[0]) / h, (py - field.origin[1]) / h, (pz - field.origin[2]) / h
    ux = min(ux, f.shape[0] - 1.6) if ux > 0.6 else 0.6
    uy = min(uy, f.shape[1] - 1.6) if uy > 0.6 else 0.6
    uz = min(uz, f.shape[2] - 1.6) if uz > 0.6 else 0.6
    i, j, k = int(ux + 0.5), int(uy + 0.5), int(uz + 0.5)
    a, b, c = ux - i, uy - j, uz - k
    c0, c1, c2 = 0.5 * (0.5 - c) * (0.5 - c), 0.75 - c * c, 0.5 * (0.5 + c) * (0.5 + c)
    value, gx, gy, gz, xx, yy, zz, xy, xz, yz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for m in range(-1, 2):
        s = 0.75 - a * a if m == 0 else 0.5 * (0.5 + m * a) * (0.5 + m * a)
        s1 = -2.0 * a if m == 0 else m * (0.5 + m * a)
        s2 = -2.0 if m == 0 else 1.0
        v, vy, vz, vyy, vyz, vzz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for n in range(-1, 2):
            t = 0.75 - b * b if n == 0 else 0.5 * (0.5 + n * b) * (0.5 + n * b)
            t1 = -2.0 * b if n == 0 else n * (0.5 + n * b)
            t2 = -2.0 if n == 0 else 1.0
            low, mid, top = f[i + m, j + n, k - 1], f[i + m, j + n, k], f[i + m, j + n, k + 1]
            w, w1 = c0 * low + c1 * mid + c2 * top, (c - 0.5) * low - 2 * c * mid + (c + 0.5) * top
            v, vy, vyy = v + t * w, vy + t1 * w, vyy + t2 * w
            vz, vyz, vzz = vz + t * w1, vyz + t1 * w1, vzz + t * (low - 2 * mid + top)
        value, gx, xx = value + s * v, gx + s1 * v, xx + s2 * v
        gy, gz, xy, xz = gy + s * vy, gz + s * vz, xy + s1 * vy, xz + s1 * vz
        yy, zz, yz = yy + s * vyy, zz + s * vzz, yz + s * vyz
    e = 1.0 / (h * h)
    return value, gx / h, gy / h, gz / h, xx * e, yy * e, zz * e, xy * e, xz * e, yz * e
