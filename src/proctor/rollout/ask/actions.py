"""Checking actions before an environment sees them.

The engine looks at a whole batch at once, where the policy answers; what is not plainly valid there is examined step
by step where it is executed. A checked chunk has the action space's dtype. NaN and a wrong shape are always invalid;
a value out of range is clipped or invalid, as the task says, and always invalid where actions are discrete: the
nearest number is another action. A chunk may be invalid from some step on: what comes before is still executed.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from gymnasium import spaces

from proctor_host.messages import Chunk

FEW = 16
"""Numbers that are not worth numpy's beginnings."""
SUPPORTED = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)


class ActionChecker:
    """Checks chunks against one action space."""

    def __init__(self, space: spaces.Space[Any], clip: bool):
        if not isinstance(space, SUPPORTED):
            raise TypeError(
                f"action space {space} is not supported: a policy returns arrays; wrap the environment so that its "
                "actions are a Box, Discrete, MultiDiscrete or MultiBinary"
            )
        assert space.dtype is not None
        self.shape: tuple[int, ...] = tuple(space.shape or ())
        self.dtype = np.dtype(space.dtype)
        self.clip = clip and isinstance(space, spaces.Box)
        self.whole = self.dtype.kind in "iub"
        """Whether actions are whole numbers."""
        self.low, self.high = _bounds(space)
        least, most = _finite(self.low, self.high)
        self._limits = list(zip(least.ravel().tolist(), most.ravel().tolist(), strict=True))
        self._least, self._most = _common(least, most)

    def all_valid(self, rows: np.ndarray) -> np.ndarray | None:
        """Many rows of chunks `(rows, horizon, *shape)` in one look: cast to the space's dtype where every action is
        valid as it is, else None."""
        if rows.shape[2:] != self.shape or rows.dtype.kind not in "fiub" or rows.shape[1] == 0:
            return None
        return self._plainly_valid(rows)

    def check(self, actions: Any) -> Chunk:
        """`actions` is (horizon, *shape)."""
        a = actions if type(actions) is np.ndarray else np.asarray(actions)
        if a.shape[1:] != self.shape or a.ndim == 0:
            return Chunk(a, 0, f"action has shape {a.shape[1:]}; the task's action space has {self.shape}")
        if len(a) == 0:
            return Chunk(a, 0, "the policy gave an empty chunk of actions")
        if a.dtype.kind not in "fiub":
            return Chunk(a, 0, f"action has dtype {a.dtype}; expected numbers")
        if self.whole and not self.shape and a.dtype.kind == "f" and len(a) > 1:
            return Chunk(a, 0, self._scores(a))
        cast = self._plainly_valid(a)
        return self._slow(a) if cast is None else Chunk(cast, len(cast))

    def _plainly_valid(self, a: np.ndarray) -> np.ndarray | None:
        """The numbers in the space's dtype; None unless all are finite and within bounds. Whole numbers are compared
        before the cast, which would wrap them; others after it, so that a bound that was rounded still holds."""
        if self.whole:
            if a.dtype.kind == "f" or not self._inside(a):
                return None
            return a if a.dtype == self.dtype else a.astype(self.dtype)
        cast = self._cast(a)
        return cast if self._inside(cast) else None

    def _inside(self, a: np.ndarray) -> bool:
        """Whether every number is. NaN is not. This is asked at every step: a few are compared one by one sooner
        than numpy gets going, and bytes are looked through sooner than it finds out how to reduce them."""
        if a.size <= FEW:
            limits = itertools.cycle(self._limits)
            return all([low <= value <= high for value, (low, high) in zip(a.ravel().tolist(), limits, strict=False)])
        return b"\0" not in ((a >= self._least) & (a <= self._most)).tobytes()

    def _cast(self, a: np.ndarray) -> np.ndarray:
        if a.dtype == self.dtype:
            return a
        with np.errstate(over="ignore"):
            return a.astype(self.dtype)

    def _slow(self, a: np.ndarray) -> Chunk:
        """Find out, step by step, what is wrong."""
        flat = (a if self.whole else self._cast(a)).reshape(len(a), -1).astype(np.float64)
        low = np.broadcast_to(self.low, self.shape).reshape(-1).astype(np.float64)
        high = np.broadcast_to(self.high, self.shape).reshape(-1).astype(np.float64)
        inside = np.clip(np.nan_to_num(flat, posinf=np.inf, neginf=-np.inf), low, high)
        given = np.isfinite(a.reshape(len(a), -1))
        finite: np.ndarray = np.all(given & np.isfinite(inside), axis=1)
        whole = np.all(np.mod(np.where(given, flat, 0.5), 1) == 0, axis=1) if self.whole else finite
        outside: np.ndarray = np.any((flat < low) | (flat > high), axis=1)
        ok: np.ndarray = finite & whole & (~outside | self.clip)
        valid = len(a) if ok.all() else int(np.argmin(ok))
        reason = None if valid == len(a) else self._reason(a[valid], finite[valid], whole[valid])
        clean = np.where(np.isfinite(inside), inside, 0.0).reshape(a.shape).astype(self.dtype)
        return Chunk(clean, valid, reason, outside & ok if (outside & ok)[:valid].any() else None)

    def _scores(self, a: np.ndarray) -> str:
        shown = np.array2string(a, threshold=8, precision=4)
        return (
            f"the policy gave {len(a)} floats {shown} for one action that is a whole number from {_span(self.low)} to "
            f"{_span(self.high)}; if they are scores, return int(np.argmax(scores)); a chunk of actions is made of "
            "whole numbers (.astype(int))"
        )

    def _reason(self, action: np.ndarray, finite: bool, whole: bool) -> str:
        shown = np.array2string(action, threshold=8, precision=4)
        if not finite:
            return f"action {shown} is not finite"
        if not whole:
            return f"action {shown} is not a whole number; the task's actions are discrete"
        return f"action {shown} is out of range [{_span(self.low)}, {_span(self.high)}]"


def _bounds(space: Any) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(space, spaces.Box):
        return space.low, space.high
    if isinstance(space, spaces.Discrete):
        return np.asarray(space.start), np.asarray(space.start + space.n - 1)
    if isinstance(space, spaces.MultiDiscrete):
        return np.asarray(space.start), np.asarray(space.start + space.nvec - 1)
    return np.zeros(space.shape, space.dtype), np.ones(space.shape, space.dtype)


def _finite(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds that infinity is outside of."""
    if low.dtype.kind != "f":
        return low, high
    limits = np.finfo(low.dtype)
    return np.maximum(low, limits.min), np.minimum(high, limits.max)


def _common(low: np.ndarray, high: np.ndarray) -> tuple[Any, Any]:
    """One bound for all entries, where they have the same: it is compared with sooner."""
    alike = low.size > 0 and (low == low.flat[0]).all() and (high == high.flat[0]).all()
    return (low.flat[0], high.flat[0]) if alike else (low, high)


def _span(bound: np.ndarray) -> str:
    return (
        f"{bound.flat[0]:g}" if bound.size and (bound == bound.flat[0]).all() else np.array2string(bound, threshold=6)
    )
