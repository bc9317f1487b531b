"""What a robot that follows a reference would observe, as HumanoidVerse makes it of its motion library: the root's
angular velocity in the world frame and without the scale that its worlds observe it with, the root height only where
its config observes it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from proctor.errors import optional
from proctor.suites.tracking import rotations


def reference_observation(inner: Any, state: Mapping[str, Any], default: Any, velocity_multiplier: float) -> Any:
    """`state`, `privileged_state` and `last_action` of all frames (T, ...), of what the motion library gives for them.

    A latent is made of these, and a rollout amplifies the last digit of a latent. So the environment's own functions
    are asked where its module has them, in their float32; a formula of ours takes their place where it has not."""
    own = vars(sys.modules[type(inner).__module__])
    velocities = {key: state[key] * velocity_multiplier for key in ("dof_vel", "body_vel_t", "body_ang_vel_t")}
    made = _by_theirs if {"compute_humanoid_observations_max", "quat_rotate_inverse"} <= own.keys() else _by_ours
    gravity, privileged = made(inner, own, state, velocities)
    angular = velocities["body_ang_vel_t"][:, 0]
    torch = optional("torch", "a HumanoidVerse environment", "torch")
    joints = state["dof_pos"] - default
    return {
        "state": torch.cat([joints, velocities["dof_vel"], gravity, angular], dim=-1),
        "privileged_state": privileged,
        "last_action": torch.zeros_like(joints),
    }


def _by_theirs(inner: Any, own: Mapping[str, Any], state: Mapping[str, Any], velocities: Mapping[str, Any]) -> Any:
    torch = optional("torch", "a HumanoidVerse environment", "torch")
    bodies = (state["rg_pos_t"], state["rg_rot_t"], velocities["body_vel_t"], velocities["body_ang_vel_t"])
    keys = {"local_root_obs": True, "root_height_obs": bool(inner.config.obs.root_height_obs)}
    if inner.use_contact_in_obs_max:
        touching = inner.foot_contact_detect(bodies[0], bodies[2])
        parts = own["compute_humanoid_observations_max_with_contact"](*bodies, **keys, contact_binary=touching)
    else:
        parts = own["compute_humanoid_observations_max"](*bodies, **keys)
    down = inner.gravity_vec[:1].repeat(len(bodies[0]), 1)
    return own["quat_rotate_inverse"](bodies[1][:, 0], down, w_last=True), torch.cat(list(parts.values()), dim=-1)


def _by_ours(inner: Any, own: Mapping[str, Any], state: Mapping[str, Any], velocities: Mapping[str, Any]) -> Any:
    from proctor.suites.tracking import kernels

    torch = optional("torch", "a HumanoidVerse environment", "torch")
    found = (state["rg_pos_t"], state["rg_rot_t"], velocities["body_vel_t"], velocities["body_ang_vel_t"])
    pos, quat, linear, angular = (value.detach().cpu().numpy().astype(np.float64) for value in found)
    quat = quat[..., [3, 0, 1, 2]]
    rows, bodies = quat.shape[:2]
    privileged = np.empty((rows, 1 + 3 * (bodies - 1) + 12 * bodies))
    parts = tuple(map(np.ascontiguousarray, (pos, quat, linear, angular)))
    kernels.privileged(parts, np.arange(bodies), 0, privileged)
    seen = privileged if inner.config.obs.root_height_obs else privileged[:, 1:]
    like = state["dof_pos"]
    return tuple(
        torch.as_tensor(v, dtype=like.dtype, device=like.device) for v in (rotations.gravity_in(quat[:, 0]), seen)
    )
