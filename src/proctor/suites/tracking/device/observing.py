"""The observations of N worlds on a device: the groups of `tracking.observing`, as float32 tensors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from proctor.suites.tracking import observations as obs
from proctor.suites.tracking.device import rotations
from proctor.suites.tracking.device.capture import abreast
from proctor.suites.tracking.device.worlds import DeviceWorlds
from proctor.suites.tracking.layout import HumanoidVerseLayout, widths
from proctor.suites.tracking.options import TrackingOptions

DeviceObservation = dict[str, torch.Tensor]


class DeviceObserver:
    """Looks at `worlds`. `state` (n, 2J + 6) is the state as last observed, noise included; None where nothing needs
    it."""

    def __init__(self, worlds: DeviceWorlds, options: TrackingOptions):
        self._worlds, self._groups, self._layout = worlds, options.groups, options.layout
        robot, n, device = worlds.robot, worlds.n, worlds.device
        self._joints, width = robot.description.n_joints, obs.state_size(robot)
        wanted = set(self._groups)
        self._every = torch.arange(n, device=device)
        self._pose = torch.tensor(robot.description.default_pose, dtype=torch.float32, device=device)
        self._observed = torch.tensor(robot.observed, device=device)
        self._others = torch.tensor(robot.observed[robot.observed != robot.root], device=device)
        self._offsets = torch.tensor(options.reference_offsets, device=device)
        self._known = _known(worlds)
        needs_state = wanted & {"state", "history", "history_actor"}
        self.state = torch.zeros((n, width), device=device) if needs_state else None
        shape = (n, options.history_length, width + self._joints)
        self._history = torch.zeros(shape, device=device) if "history" in wanted else None
        self._factors: torch.Tensor | None = None
        self._actor: dict[str, torch.Tensor] = {}
        if options.layout is not None:
            self._factors = torch.tensor(options.layout.shown(np.ones(width)), dtype=torch.float32, device=device)
            if "history_actor" in wanted:
                self._actor = _actor_history(options.layout, n, self._joints, device)
        self._look: dict[str, Callable[[], torch.Tensor]] = {
            "state": self._shown,
            "privileged_state": self._privileged,
            "history": self._past,
            "history_actor": self._past_of_actor,
            "last_action": self._acted,
            "root_height": lambda: worlds.physics.qpos[:, 2:3].clone(),
            "reference": self._window,
            "motion": lambda: worlds.motion.clone(),
            "frame": lambda: torch.minimum(worlds.frame + 1, worlds.length - 1),
            "qpos": lambda: worlds.physics.qpos.clone(),
            "qvel": lambda: worlds.physics.qvel.clone(),
            "xpos": lambda: worlds.physics.bodies.pos.clone(),
            "xquat": lambda: worlds.physics.bodies.quat.clone(),
        }

    def start(self) -> DeviceObservation:
        """Where trials have begun, their first observation; elsewhere what is observed anyway."""
        mask = self._worlds.mask
        for history in (self._history, *self._actor.values()):
            if history is not None:
                history.masked_fill_(mask[:, None, None], 0.0)
        return self._observe()

    def go_on(self) -> DeviceObservation:
        """The observation after a step."""
        if self._history is not None:
            assert self.state is not None
            newest = torch.cat([self.state, self._worlds.last_action], dim=1)
            self._history.copy_(torch.cat([self._history[:, 1:], newest[:, None]], dim=1))
        self._worlds.drawing.used()
        return self._observe()

    def _observe(self) -> DeviceObservation:
        if self.state is not None:
            physics = self._worlds.physics
            state = [
                physics.qpos[:, 7:] - self._pose,
                physics.qvel[:, 6:],
                rotations.directions(physics.qpos[:, 3:7], "gravity"),
                physics.qvel[:, 3:6],
            ]
            torch.cat(state, dim=1, out=self.state)
            noise = self._worlds.drawing.noise(self._every)
            if noise is not None:
                self.state += noise
        return dict(zip(self._groups, abreast(*map(self._look.__getitem__, self._groups)), strict=True))

    def _seen(self) -> torch.Tensor:
        assert self.state is not None
        return self.state

    def _shown(self) -> torch.Tensor:
        """The state as it is shown, scaled where the layout scales."""
        return self._seen().clone() if self._factors is None else self._seen() * self._factors

    def _acted(self) -> torch.Tensor:
        last = self._worlds.last_action
        if self._layout is None:
            return last.clone()
        clip = self._layout.action_clip
        return (last * self._layout.action_gain).clamp(-clip, clip) * self._layout.scales.actions

    def _past(self) -> torch.Tensor:
        assert self._history is not None
        return self._history.clone()

    def _past_of_actor(self) -> torch.Tensor:
        return torch.cat([rows.flatten(1) for rows in self._actor.values()], dim=1)

    def remember(self) -> None:
        """Before a step is counted: what was last shown goes into HumanoidVerse's history, but for the first
        observation of a trial."""
        if not self._actor:
            return
        stepped = (self._worlds.steps > 0)[:, None, None]
        joints, shown = self._joints, self._shown()
        parts = {
            "actions": self._acted(),
            "dof_pos": shown[:, :joints],
            "dof_vel": shown[:, joints : 2 * joints],
            "projected_gravity": shown[:, 2 * joints : 2 * joints + 3],
            "base_ang_vel": shown[:, 2 * joints + 3 :],
        }
        for name, rows in self._actor.items():
            if rows.shape[1]:
                rows.copy_(torch.where(stepped, torch.cat([parts[name][:, None], rows[:, :-1]], dim=1), rows))

    def _privileged(self) -> torch.Tensor:
        pos, quat, lin_vel, ang_vel = self._worlds.physics.bodies
        root = self._worlds.robot.root
        origin = pos[:, root]
        quat = quat.index_select(1, self._observed)
        axes = rotations.directions(quat, "x z").unflatten(-1, (2, 3))
        vectors = torch.cat(
            [
                pos.index_select(1, self._others) - origin[:, None],
                axes.flatten(1, 2),
                lin_vel.index_select(1, self._observed),
                ang_vel.index_select(1, self._observed),
            ],
            dim=1,
        )
        ahead, aside = (part[:, None] for part in rotations.heading(self._worlds.physics.bodies.quat[:, root]))
        x, y, z = vectors.unbind(-1)
        turned = torch.stack([ahead * x + aside * y, ahead * y - aside * x, z], dim=-1)
        return torch.cat([origin[:, 2:3], turned.flatten(1)], dim=1)

    def _window(self) -> torch.Tensor:
        w, anchor = self._worlds, self._worlds.robot.anchor
        frames = torch.minimum((w.frame[:, None] + self._offsets).clamp_min(0), w.length[:, None] - 1)
        known = self._known[w.first[:, None] + frames]
        before, vectors, after = known.split((2 * self._joints, 9, 6), dim=-1)
        position, rotation = (part[:, anchor] for part in w.physics.bodies[:2])
        vectors[..., :3] -= position[:, None]
        axes = rotations.directions(rotation, "x y z").unflatten(-1, (3, 3))
        there = (vectors.unflatten(-1, (3, 1, 3)) * axes[:, None, None]).sum(dim=-1)
        columns = there[:, :, 1:].transpose(-1, -2).flatten(2)
        return torch.cat([before, there[:, :, 0], columns, after], dim=-1)


def _known(worlds: DeviceWorlds) -> torch.Tensor:
    """Of each reference frame what a window says of it: joint positions and velocities; position and first two axes of
    the anchor, which are shown from where the robot's anchor is; linear and angular velocity of the root in its own
    frame."""
    reference = worlds.reference
    qpos, qvel = reference.qpos, reference.qvel
    anchor = [reference.anchor_pos, rotations.directions(reference.anchor_quat, "x y")]
    root = [rotations.into(qpos[:, 3:7], qvel[:, :3]), qvel[:, 3:6]]
    return torch.cat([qpos[:, 7:], qvel[:, 6:], *anchor, *root], dim=1)


def _actor_history(layout: HumanoidVerseLayout, n: int, joints: int, device: torch.device) -> dict[str, torch.Tensor]:
    """Zeros for the parts of HumanoidVerse's history, each (n, steps, width)."""
    return {
        part: torch.zeros((n, getattr(layout.history, part), width), device=device)
        for part, width in widths(joints).items()
    }
