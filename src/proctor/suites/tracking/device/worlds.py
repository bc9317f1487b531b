"""N worlds on a device in which a robot follows motions: as `tracking.worlds`, in float32 and with tensors that are
written to in place. What can be captured is in the methods `begin`, `before` and `after`: they have fixed shapes, look
at no value on the host, and launch nothing but torch's own operations."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch

from proctor.suites.tracking.device.drawing import Drawing
from proctor.suites.tracking.device.physics import DevicePhysics, Setup, make_physics
from proctor.suites.tracking.motions import MotionLibrary
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.robot import Robot
from proctor.suites.tracking.worlds import TARGET_LIMIT_RAD, episode_lengths


class Reference:
    """The motions on a device, float32: the arrays of `MotionLibrary.frames` that worlds need. `motions` (3, m) int64:
    of each motion its first row, the number of its last frame, and how many frames of it are followed, `lengths`."""

    def __init__(self, robot: Robot, library: MotionLibrary, lengths: np.ndarray, device: torch.device):
        frames = library.frames

        def put(array: np.ndarray, dtype: torch.dtype = torch.float32) -> torch.Tensor:
            return torch.tensor(np.ascontiguousarray(array), dtype=dtype, device=device)

        self.qpos, self.qvel = put(frames.qpos), put(frames.qvel)
        self.tracked = put(frames.body_pos[:, robot.tracked])
        self.anchor_pos, self.anchor_quat = (
            put(frames.body_pos[:, robot.anchor]),
            put(frames.body_quat[:, robot.anchor]),
        )
        self.motions = put(np.stack([library.offsets[:-1], library.lengths - 1, lengths]), torch.int64)
        self.lengths = self.motions[2]


class DeviceWorlds:
    """`motion`, `frame`, `length`, `steps` (n,) int64 and `last_action` (n, J): as in `Worlds`. `first` (n,) int64: the
    row of `reference` in which the motion begins. `asked` (3, n) int64: which worlds `begin` is to put into another
    trial (0 or 1), with which motion, at which frame."""

    def __init__(self, robot: Robot, library: MotionLibrary, n: int, options: TrackingOptions, device: torch.device):
        self.robot, self.library, self.n, self.device = robot, library, n, device
        self.dt_s = 1.0 / options.control_hz
        self.lengths = episode_lengths(library, options)
        self.reference = Reference(robot, library, self.lengths, device)
        self.drawing = Drawing(self._base(options), robot, options, n, int(self.lengths.max()), device)
        self.physics: DevicePhysics = make_physics(
            options.physics,
            Setup(
                self.drawing.model, n, options.substeps, device, self.drawing.fields, options.contacts,
                options.constraints,
            ),
        )  # fmt: skip
        self._absolute, self._layout = options.action == "absolute", options.layout
        joints = robot.description.n_joints
        self._pose = self._constant(robot.description.default_pose)
        self._scale = self._constant(robot.description.action_scale)
        self.asked = torch.zeros((3, n), dtype=torch.int64, device=device)
        self.action = torch.zeros((n, joints), device=device)
        """What is done in the next step; then it is `last_action`."""
        self.last_action = torch.zeros((n, joints), device=device)
        self.motion, self.frame, self.steps = torch.zeros((3, n), dtype=torch.int64, device=device)
        self._motions = torch.zeros((3, n), dtype=torch.int64, device=device)
        self.first, self._last, self.length = self._motions
        self._refused = torch.zeros(n, dtype=torch.bool, device=device)

    def _base(self, options: TrackingOptions) -> Any:
        base = copy.copy(self.robot.model)
        base.opt.timestep = 1.0 / options.physics_hz
        return base

    def _constant(self, values: np.ndarray) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.float32, device=self.device)

    @property
    def mask(self) -> torch.Tensor:
        """(n,) bool: the worlds that `begin` is asked to put into another trial."""
        return self.asked[0] != 0

    def begin(self) -> None:
        """Put the worlds that were asked for at a frame of their motions. `physics.settle` is to follow."""
        mask, (_, motion, frame) = self.mask, self.asked
        torch.where(mask, motion, self.motion, out=self.motion)
        torch.where(mask, frame.clamp_min(0), self.frame, out=self.frame)
        torch.where(mask, self.reference.motions[:, motion], self._motions, out=self._motions)
        self.steps.masked_fill_(mask, 0)
        self._refused.masked_fill_(mask, False)
        self.last_action.masked_fill_(mask[:, None], 0.0)
        at = self.rows()
        self.physics.place(mask, self.reference.qpos[at], self.reference.qvel[at])
        self.drawing.begin(mask)

    def rows(self) -> torch.Tensor:
        """(n,) int64: the rows of `reference` that the worlds stand at, the last one beyond the end of a motion."""
        return self.first + torch.minimum(self.frame, self._last)

    def before(self) -> None:
        """From `action` to the joint targets of a step, and pushes. An action that is not finite moves nothing but the
        world that it is for, which counts as broken down."""
        torch.logical_not(torch.isfinite(self.action).all(dim=1), out=self._refused)
        targets = self.action if self._layout is None else self._layout_acted(self.action)
        if not self._absolute:
            targets = targets * self._scale + self._pose
        targets = torch.where(self._refused[:, None], self._pose, targets)
        torch.clamp(targets, -TARGET_LIMIT_RAD, TARGET_LIMIT_RAD, out=self.physics.control)
        push = self.drawing.push(self.steps)
        if push is not None:
            self.physics.qvel[:, :2] += push

    def _layout_acted(self, actions: torch.Tensor) -> torch.Tensor:
        assert self._layout is not None
        return (actions * self._layout.action_gain).clamp(-self._layout.action_clip, self._layout.action_clip)

    def after(self) -> None:
        """What is to be counted after `physics.step`."""
        self.last_action.copy_(self.action)
        self.frame += 1
        self.steps += 1

    @property
    def broken(self) -> torch.Tensor:
        """(n,) bool: the last step gave nothing that may be counted."""
        return self.physics.broken | self._refused
