"""The tracking worlds as train_tracking.py learns in them: what actor and critic see, what is rewarded, and where
episodes begin.

The network's answer is added to the joints of the next reference frame, so that one which says nothing does what
tracking/mirror does. A world keeps its motion, so every motion gets the same share of steps, however soon the robot
falls in it; an episode begins in any frame of it, in the reference's state there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from ppo import Actor, Seen, Stepped

from proctor.suites.tracking import make

GROUPS = ("state", "last_action", "reference")
"""What the actor sees, in this order; the critic sees `privileged_state` as well."""
OFFSETS = (1, 5, 15)
"""Frames of the window `reference`."""
FIRST_FRAME_SHARE = 0.15
"""Of episodes that begin where the motion does."""


@dataclass(frozen=True)
class RewardCfg:
    """Weights of a second, and how far off halves what is near 1: exp(-(distance / scale)^2)."""

    bodies: float = 1.0
    joints: float = 0.5
    joints_rad: float = 0.25
    anchor_position: float = 0.5
    anchor_position_m: float = 0.2
    anchor_rotation: float = 0.75
    anchor_rotation_rad: float = 0.35
    velocity: float = 0.5
    velocity_m_s: float = 0.5
    turning: float = 0.5
    turning_rad_s: float = 2.0
    alive: float = 0.5
    hasty: float = 0.02
    """Against the square of how much the network's answer changes."""
    torque: float = 1e-5
    """Against the square of the torques, Nm."""
    limits: float = 1.0
    """Against rad beyond nine tenths of the joints' ranges."""
    far_m: float = 0.35
    """An episode is over where the tracked bodies are further away than this, on average."""


@dataclass
class Counts:
    """What has happened since it was last asked."""

    episodes: float
    upright: float
    """Share of the episodes that came to the motion's end."""
    lasted: float
    """Mean share of the frames that an episode could have had."""


def task_options(motions: Sequence[Any], device: str, push_m_s: float) -> dict[str, Any]:
    """The options of the tracking task in which is learned."""
    return {
        "motions": list(motions),
        "physics": "warp",
        "device": device,
        "observations": [*GROUPS, "privileged_state"],
        "reference_offsets": OFFSETS,
        "terminate": {"fall": True},
        "success": "never_fell",
        "randomise": {"pushes": {"velocity_m_s": push_m_s} if push_m_s else None},
    }


class TrackingWorlds:
    """`Worlds` of ppo.py. World i has motion i modulo the number of motions."""

    def __init__(self, options: dict[str, Any], n: int, seed: int, reward: RewardCfg | None = None):
        self.reward, self.n = reward or RewardCfg(), n
        env: Any = make(options, render=False, worlds=n)
        self.env, self.robot, self.library = env, env.worlds.robot, env.worlds.library
        self.device, self.action_size = env.worlds.device, self.robot.description.n_joints
        numbers = np.arange(n)
        env.begin_device(numbers, [seed * n + int(i) for i in numbers], numbers.tolist())
        self.motions = torch.arange(n, device=self.device) % len(self.library)
        self._last = env.worlds.reference.lengths[self.motions] - 1
        self.base = Base(self.robot.description, self.device)
        description = self.robot.description
        self._stiffness, self._damping, self._effort = map(
            self._constant, (description.stiffness, description.damping, description.effort_limit)
        )
        low, high = self.robot.joint_range.T
        self._low, self._high = self._constant(low + 0.05 * (high - low)), self._constant(high - 0.05 * (high - low))
        self._begun = torch.zeros(n, dtype=torch.int64, device=self.device)
        self._residual = torch.zeros(n, self.action_size, device=self.device)
        self._next = torch.zeros_like(self._residual)
        self._counts = torch.zeros(3, device=self.device)

    def _constant(self, values: np.ndarray) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.float32, device=self.device)

    def start(self) -> Seen:
        """All worlds somewhere in their motions."""
        return self._begin(torch.ones(self.n, dtype=torch.bool, device=self.device))

    def _begin(self, mask: torch.Tensor) -> Seen:
        chance = torch.rand(2, self.n, device=self.device)
        frames = (chance[0] * (self._last - 1) * (chance[1] > FIRST_FRAME_SHARE)).long()
        self._begun = torch.where(mask, frames, self._begun)
        self._residual.masked_fill_(mask[:, None], 0.0)
        return self._see(self.env.begin_where(mask, self.motions, frames))

    def start_at_first(self) -> Seen:
        """All worlds where their motions begin."""
        every = torch.ones(self.n, dtype=torch.bool, device=self.device)
        return self._see(self.env.begin_where(every, self.motions))

    def _see(self, observation: dict[str, torch.Tensor]) -> Seen:
        self._next = self.base(observation["reference"])
        actor = flat(observation)
        return Seen(actor, torch.cat([actor, observation["privileged_state"]], dim=1))

    def act(self, answers: torch.Tensor) -> Any:
        """A step of all worlds with the network's answers, and nothing else."""
        return self.env.step_device(self._next + answers)

    def step(self, actions: torch.Tensor) -> Stepped:
        columns = self.act(actions)
        broken = columns.reward.isnan()
        reward, far = self._judge(columns, actions)
        terminated = columns.terminated | broken | far
        truncated = columns.truncated & ~terminated
        over = terminated | truncated
        self._count(over, truncated)
        self._residual.copy_(actions)
        last = self._see(columns.observation).critic
        return Stepped(reward.masked_fill(broken, 0.0), terminated, truncated, last, self._begin(over))

    def _count(self, over: torch.Tensor, truncated: torch.Tensor) -> None:
        possible = (self._last - self._begun).clamp_min(1)
        share = self.env.worlds.steps / possible
        self._counts += torch.stack([over.float().sum(), truncated.float().sum(), (share * over).sum()])

    def counts(self) -> Counts:
        """Since it was last asked; waits for the device."""
        episodes, upright, lasted = self._counts.tolist()
        self._counts.zero_()
        return Counts(episodes, upright / max(1, episodes), lasted / max(1, episodes))

    def _judge(self, columns: Any, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The reward of a step (n,), and which worlds are too far away."""
        cfg, w, anchor = self.reward, self.env.worlds, self.robot.anchor
        physics, reference = w.physics, w.reference
        at = w.rows()
        apart = (columns.signals["body_pos"] - reference.tracked[at]).norm(dim=-1)
        joints, velocities = physics.qpos[:, 7:], physics.qvel
        off = velocities - reference.qvel[at]
        cosine = (physics.bodies.quat[:, anchor] * reference.anchor_quat[at]).sum(dim=1)
        torque = self._stiffness * (physics.control - joints) - self._damping * velocities[:, 6:]
        torque = torch.minimum(torch.maximum(torque, -self._effort), self._effort)
        anchor_apart = (physics.bodies.pos[:, anchor] - reference.anchor_pos[at]).square().sum(dim=1)
        beyond = (self._low - joints).clamp_min(0) + (joints - self._high).clamp_min(0)
        reward = (
            cfg.alive
            + cfg.bodies * columns.reward
            + cfg.joints * near((joints - reference.qpos[at, 7:]).square().mean(dim=1), cfg.joints_rad)
            + cfg.anchor_position * near(anchor_apart, cfg.anchor_position_m)
            + cfg.anchor_rotation * near(4 * (1 - cosine * cosine).clamp_min(0), cfg.anchor_rotation_rad)
            + cfg.velocity * near(off[:, :3].square().sum(dim=1), cfg.velocity_m_s)
            + cfg.turning * near(off[:, 3:6].square().sum(dim=1), cfg.turning_rad_s)
            - cfg.hasty * (actions - self._residual).square().sum(dim=1)
            - cfg.torque * torque.square().sum(dim=1)
            - cfg.limits * beyond.sum(dim=1)
        )
        return reward * w.dt_s, apart.mean(dim=1) > cfg.far_m

    def close(self) -> None:
        self.env.close()


class Base:
    """The action that asks for the joints of the next reference frame, of the window `reference` (n, K, ...)."""

    def __init__(self, description: Any, device: torch.device | str = "cpu"):
        self.row, self.joints = OFFSETS.index(1), description.n_joints
        self.pose, self.scale = (
            torch.tensor(values, dtype=torch.float32, device=device)
            for values in (description.default_pose, description.action_scale)
        )

    def __call__(self, window: torch.Tensor) -> torch.Tensor:
        return (window[:, self.row, : self.joints] - self.pose) / self.scale


def flat(observation: dict[str, torch.Tensor]) -> torch.Tensor:
    """What the actor sees, (n, A), a tensor of its own."""
    return torch.cat([observation[group].flatten(1) for group in GROUPS], dim=1)


def near(square: torch.Tensor, scale: float) -> torch.Tensor:
    """1 where it is, and less the further off."""
    return torch.exp(square * (-1 / scale**2))


@dataclass(frozen=True)
class Found:
    """Of one motion, from its first frame to its last: the share of worlds that never fell; the share of frames before
    a fall; mean joint error in rad and mean error of the tracked bodies in m, over all frames."""

    motion: str
    upright: float
    lasted: float
    joints_rad: float
    bodies_m: float


@torch.no_grad()
def evaluate(worlds: TrackingWorlds, actor: Actor) -> tuple[list[Found], dict[str, torch.Tensor]]:
    """Every motion from its first frame in all the worlds that have it, with the actor's mean; and what was seen and
    done half a second later, on the processor."""
    w, k = worlds.env.worlds, len(worlds.library)
    seen = worlds.start_at_first()
    up = torch.ones(worlds.n, dtype=torch.bool, device=worlds.device)
    sums = torch.zeros(4, worlds.n, device=worlds.device)
    kept: dict[str, torch.Tensor] = {}
    longest = int(worlds.library.lengths.max()) - 1
    for step in range(longest):
        columns = worlds.act(actor(seen.actor))
        inside = w.frame <= worlds._last
        at = w.rows()
        up &= ~(inside & (columns.terminated | columns.reward.isnan()))
        joints = (w.physics.qpos[:, 7:] - w.reference.qpos[at, 7:]).abs().mean(dim=1)
        bodies = (columns.signals["body_pos"] - w.reference.tracked[at]).norm(dim=-1).mean(dim=1)
        sums += torch.stack([torch.ones_like(joints), up.float(), joints, bodies]) * inside
        if step == min(25, longest - 1):
            kept = {group: columns.observation[group].clone() for group in GROUPS}
            kept["actions"] = worlds.base(kept["reference"]) + actor(flat(kept))
        seen = worlds._see(columns.observation)
    found = torch.cat([up[None].float(), sums[1:] / sums[0]]).cpu()
    motions = worlds.motions.cpu()
    means = [[float(row[motions == m].mean()) for row in found] for m in range(min(k, worlds.n))]
    rows = [Found(name, *values) for name, values in zip(worlds.library.names, means, strict=False)]
    return rows, {name: value[:64].cpu() for name, value in kept.items()}
