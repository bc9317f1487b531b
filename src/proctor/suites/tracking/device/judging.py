"""How each world is doing against its reference: the definitions of `tracking.judging`, for tensors."""

from __future__ import annotations

from typing import NamedTuple

import torch

from proctor.suites.tracking.device import rotations
from proctor.suites.tracking.device.worlds import DeviceWorlds
from proctor.suites.tracking.judging import (
    FALL_HEIGHT_SHARE,
    FALL_LEAN_RAD,
    REWARD_SCALE_M,
    SUCCESS_M,
)
from proctor.suites.tracking.options import TrackingOptions


class DeviceVerdict(NamedTuple):
    """As `tracking.judging.Verdict`, of all worlds."""

    body_pos: torch.Tensor
    reward: torch.Tensor
    success: torch.Tensor
    terminated: torch.Tensor
    truncated: torch.Tensor


class DeviceJudge:
    """Watches `worlds`."""

    def __init__(self, worlds: DeviceWorlds, options: TrackingOptions):
        self._worlds, self._success, self._terminate = worlds, options.success, options.terminate
        self._good = torch.ones(worlds.n, dtype=torch.bool, device=worlds.device)
        reference, robot = worlds.reference, worlds.robot
        self._tracked = torch.tensor(robot.tracked, device=worlds.device)
        expected = reference.qpos[:, 2]
        self._lowest = torch.minimum(FALL_HEIGHT_SHARE * expected, expected)
        self._most_lean = rotations.lean(reference.anchor_quat) + FALL_LEAN_RAD

    def start(self) -> None:
        """Where trials have begun. They begin on their references, so all is well."""
        self._good |= self._worlds.mask

    def judge(self) -> DeviceVerdict:
        """After a step."""
        w, limits = self._worlds, self._terminate
        at = w.rows()
        body_pos = w.physics.bodies.pos.index_select(1, self._tracked)
        apart = body_pos - w.reference.tracked[at]
        squares = (apart * apart).sum(dim=-1)
        distances = squares.sqrt()
        mean = distances.mean(dim=1)
        fallen = self._fallen(at) if limits.fall or self._success == "never_fell" else None
        self._good &= self._holds(mean, distances, fallen)
        reward = torch.exp(squares.mean(dim=1) * (-1 / REWARD_SCALE_M**2))
        reward = reward.masked_fill(w.broken, torch.nan)
        ended = w.frame >= w.length - 1
        terminated = self._terminated(at, mean)
        if limits.fall and fallen is not None:
            terminated = terminated | fallen
        return DeviceVerdict(body_pos, reward, self._good.clone(), terminated, ended & ~terminated)

    def _holds(self, mean: torch.Tensor, distances: torch.Tensor, fallen: torch.Tensor | None) -> torch.Tensor:
        if fallen is not None and self._success == "never_fell":
            return ~fallen
        return (mean if self._success == "phc_mean" else distances.amax(dim=1)) <= SUCCESS_M

    def _fallen(self, at: torch.Tensor) -> torch.Tensor:
        w = self._worlds
        leans = rotations.lean(w.physics.bodies.quat[:, w.robot.anchor]) > self._most_lean[at]
        return leans | (w.physics.qpos[:, 2] < self._lowest[at])

    def _terminated(self, at: torch.Tensor, mean: torch.Tensor) -> torch.Tensor:
        w, limits = self._worlds, self._terminate
        over = torch.zeros_like(w.physics.broken)
        if limits.far_m is not None:
            over = over | (mean > limits.far_m)
        if limits.root_far_m is not None:
            apart = w.physics.qpos[:, :3] - w.reference.qpos[at, :3]
            over = over | ((apart * apart).sum(dim=1) > limits.root_far_m**2)
        if limits.joint_rad is not None:
            apart = (w.physics.qpos[:, 7:] - w.reference.qpos[at, 7:]).abs()
            over = over | (apart > limits.joint_rad).any(dim=1)
        return over
