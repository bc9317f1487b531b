"""How each world is doing against its reference: reward, success so far, and whether the episode is over.

With d_b the distance of tracked body b from where it is in the reference frame that the world stands at:

- reward: exp(-mean_b d_b^2 / (0.3 m)^2), from 0 to 1.
- success, in every frame so far (the first one included): `phc_mean`: mean_b d_b <= 0.5 m; `phc_linf`: every
  d_b <= 0.5 m; `never_fell`: not fallen.
- fallen: the anchor leans more than 45 degrees more than the reference's, or the root is less than half as high as the
  reference's. So who follows a reference to the floor has not fallen.
- truncated: the last frame of the motion is reached. terminated: as the options ask; by default never.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.worlds import Rows, Worlds

REWARD_SCALE_M = 0.3
SUCCESS_M = 0.5
FALL_LEAN_RAD = math.pi / 4
FALL_HEIGHT_SHARE = 0.5


class Verdict(NamedTuple):
    """Of k worlds: `body_pos` (k, Bt, 3) are the tracked bodies; the rest is (k,). The reward of a world whose
    simulation broke down is NaN."""

    body_pos: np.ndarray
    reward: np.ndarray
    success: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray


class Judge:
    """Watches `worlds`."""

    def __init__(self, worlds: Worlds, options: TrackingOptions):
        self._worlds, self._success, self._terminate = worlds, options.success, options.terminate
        self._good = np.ones(worlds.n, bool)
        reference, anchor = worlds.library.frames, worlds.robot.anchor
        self._targets = np.ascontiguousarray(reference.body_pos[:, worlds.robot.tracked])
        expected = reference.qpos[:, 2]
        self._lowest = np.minimum(FALL_HEIGHT_SHARE * expected, expected)
        self._most_lean = lean(reference.body_quat[:, anchor]) + FALL_LEAN_RAD

    def start(self, rows: np.ndarray) -> Verdict:
        """At the start of trials."""
        self._good[rows] = True
        return self.judge(rows)

    def judge(self, rows: Rows) -> Verdict:
        """After the start or a step of these worlds."""
        w, limits = self._worlds, self._terminate
        at = w.library.rows(w.motion[rows], w.frame[rows])
        body_pos, (mean, largest, squares) = self._distances(rows, at)
        fallen = self._fallen(rows, at) if limits.fall or self._success == "never_fell" else None
        self._good[rows] &= self._holds(mean, largest, fallen)
        reward = np.exp(squares / -(REWARD_SCALE_M**2))
        reward[w.diverged[rows]] = np.nan
        ended = w.frame[rows] >= w.length[rows] - 1
        terminated = self._terminated(rows, at, mean) | (fallen if limits.fall and fallen is not None else False)
        return Verdict(body_pos, reward, self._good[rows].copy(), terminated, ended & ~terminated)

    def _distances(self, rows: Rows, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the tracked bodies (k, Bt, 3); mean distance, largest one, and mean of the squares (3, k)."""
        from proctor.suites.tracking import kernels

        tracked = self._worlds.robot.tracked
        found, summary = np.empty((len(at), len(tracked), 3)), np.empty((len(at), 3))
        kernels.distances(self._worlds.bodies.pos[rows], tracked, self._targets, at, (found, summary))
        return found, summary.T

    def _holds(self, mean: np.ndarray, largest: np.ndarray, fallen: np.ndarray | None) -> np.ndarray:
        if fallen is not None and self._success == "never_fell":
            return ~fallen
        return (mean if self._success == "phc_mean" else largest) <= SUCCESS_M

    def _fallen(self, rows: Rows, at: np.ndarray) -> np.ndarray:
        w = self._worlds
        leans = lean(w.bodies.quat[rows, w.robot.anchor]) > self._most_lean[at]
        return leans | (w.qpos[rows, 2] < self._lowest[at])

    def _terminated(self, rows: Rows, at: np.ndarray, mean: np.ndarray) -> np.ndarray:
        w, limits, reference = self._worlds, self._terminate, self._worlds.library.frames
        over = np.zeros(len(at), bool)
        if limits.far_m is not None:
            over |= mean > limits.far_m
        if limits.root_far_m is not None:
            apart = w.qpos[rows, :3] - reference.qpos[at, :3]
            over |= (apart * apart).sum(axis=1) > limits.root_far_m**2
        if limits.joint_rad is not None:
            over |= (np.abs(w.qpos[rows, 7:] - reference.qpos[at, 7:]) > limits.joint_rad).any(axis=1)
        return over


def lean(quat: np.ndarray) -> np.ndarray:
    """Angle in rad between the z axis of a rotation (..., 4) and the vertical, from 0 to pi."""
    w, x, y, z = quat[..., 0], quat[..., 1], quat[..., 2], quat[..., 3]
    return 2 * np.arctan2(np.sqrt(x * x + y * y), np.sqrt(w * w + z * z))
