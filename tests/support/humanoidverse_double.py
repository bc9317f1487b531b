"""A small double of a HumanoidVerse environment: the attributes, shapes, dtypes and habits of the real one (one per
process, all worlds reset together, xyzw, float32 tensors, global random generators), with a puppet for a simulator.

The puppet: each joint goes a part of the way to its target in each step; bodies hang below the root by joint angles, so
that positions follow from the state and can be computed by hand."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

JOINTS = ("hip", "knee", "left_wrist")
BODIES = ("pelvis", "torso_link", "shin", "left_wrist_link")
HEAD = "head"
DT = 0.02
SCALE = 0.5
FOLLOWS = 0.8

_singleton: Any = None


def body_positions(root: torch.Tensor, joints: torch.Tensor) -> torch.Tensor:
    """(n, B, 3) of root positions (n, 3) and joint angles (n, J)."""
    offset = torch.tensor([[0.0, 0.0, 0.0], [0.0, 0.0, 0.4], [0.0, 0.0, -0.4], [0.2, 0.0, 0.3]])
    swing = torch.cat([torch.zeros(len(joints), 1), joints], dim=1)
    return root[:, None] + offset + 0.1 * swing[..., None] * torch.tensor([1.0, 0.0, 0.0])


class MotionLib:
    def __init__(self, motions: dict[str, np.ndarray]):
        self._motions = [torch.tensor(m, dtype=torch.float32) for m in motions.values()]
        self._motion_data_keys = np.array(list(motions))
        self._num_unique_motions = len(motions)
        self._sampling_prob = torch.ones(len(motions)) / len(motions)
        self._device, self.calls = "cpu", []
        self.all_motions_loaded = False
        self.load_motions_for_training()

    @property
    def curr_motion_keys(self) -> Any:
        return self._motion_data_keys[self._curr_motion_ids.numpy()]

    def load_motions(self, random_sample: bool = True, num_motions_to_load: int | None = None) -> None:
        self.calls.append("load_motions")
        count = num_motions_to_load or self._num_unique_motions
        self._curr_motion_ids = (
            torch.multinomial(self._sampling_prob, count, replacement=True) if random_sample else torch.arange(count)
        )
        lengths = [(len(m) - 1) * DT for m in self._motions]
        self._motion_lengths = torch.tensor([lengths[i] for i in self._curr_motion_ids])
        batch = self._sampling_prob[self._curr_motion_ids]
        self._sampling_batch_prob = batch / batch.sum()

    def load_motions_for_training(self) -> None:
        self.calls.append("load_motions_for_training")
        if self.all_motions_loaded:
            return
        self.load_motions(random_sample=False)
        self.all_motions_loaded = True

    def get_motion_state(self, motion_ids: torch.Tensor, motion_times: torch.Tensor) -> dict[str, torch.Tensor]:
        rows = [self._motions[int(m)][round(float(t) / DT)] for m, t in zip(motion_ids, motion_times, strict=True)]
        rows, n = torch.stack(rows), len(rows)
        root, joints = rows[:, :3], rows[:, 3:]
        rotation = torch.tensor([0.0, 0.0, 0.0, 1.0]).expand(n, len(BODIES) + 1, 4)
        position = body_positions(root, joints)
        head = position[:, 1:2] + torch.tensor([0.0, 0.0, 0.3])
        still = torch.zeros(n, len(BODIES) + 1, 3)
        return {
            "dof_pos": joints,
            "dof_vel": torch.zeros_like(joints),
            "rg_pos_t": torch.cat([position, head], dim=1),
            "rg_rot_t": rotation,
            "body_vel_t": still,
            "body_ang_vel_t": still + torch.tensor([0.0, 0.0, 0.5]),
        }

    def update_sampling_weight_by_id(self, priorities: list, motions_id: list, file_name: Any = None) -> None:
        assert sum(priorities) > 0
        for motion in motions_id:
            assert file_name is None or self._motion_data_keys[motion] == file_name[motion]
        self._sampling_prob = torch.zeros(self._num_unique_motions)
        self._sampling_prob[motions_id] = torch.tensor(priorities, dtype=torch.float32) / sum(priorities)


class LeggedRobotMotions:
    def __init__(self, num_envs: int, motions: dict[str, np.ndarray], strength: torch.Tensor | None = None):
        self.num_envs, self.device, self.dt = num_envs, "cpu", DT
        self.default_dof_pos = torch.zeros(1, len(JOINTS))
        self.config = SimpleNamespace(obs=SimpleNamespace(root_height_obs=True))
        self._motion_lib = MotionLib(motions)
        self.is_evaluating, self.max_episode_length = False, 20
        self.strength = torch.ones(num_envs) if strength is None else strength
        self.simulator = SimpleNamespace(dof_names=list(JOINTS), body_names=list(BODIES))
        self.reset_all()

    def set_is_evaluating(self) -> None:
        self.is_evaluating = True

    def set_is_training(self) -> None:
        self.is_evaluating = False

    def reset_all(self, target_states: dict[str, torch.Tensor] | None = None) -> Any:
        n = self.num_envs
        if target_states is None:
            random.random(), np.random.rand()  # noqa: NPY002 - a habit of the real one
            dof = torch.rand(n, len(JOINTS), 2)
            root = torch.zeros(n, 13)
            root[:, 6] = 1.0
            target_states = {"dof_states": dof, "root_states": root}
        assert target_states["dof_states"].shape == (n, len(JOINTS), 2)
        assert target_states["root_states"].shape == (n, 13)
        self.simulator.dof_state = target_states["dof_states"].clone().reshape(-1, 2)
        self.simulator.robot_root_states = target_states["root_states"].clone()
        self.episode_length_buf = torch.zeros(n, dtype=torch.long)
        self._refresh()
        return {}, {}

    def step(self, actions: dict[str, torch.Tensor]) -> Any:
        action = actions["actions"]
        assert action.dtype is torch.float32
        dof = self.simulator.dof_state.reshape(self.num_envs, -1, 2)
        target = self.default_dof_pos + SCALE * action
        share = FOLLOWS * self.strength[:, None]
        dof[..., 0] += share * (target - dof[..., 0])
        self.episode_length_buf += 1
        time_outs = self.episode_length_buf > self.max_episode_length
        dof[time_outs] = 9.0
        self.episode_length_buf[time_outs] = 0
        self._refresh()
        return {}, torch.zeros(self.num_envs), time_outs, {"time_outs": time_outs}

    def _refresh(self) -> None:
        """The simulator's tensors are views that the next step overwrites in place."""
        dof = self.simulator.dof_state.reshape(self.num_envs, -1, 2)
        fresh = body_positions(self.simulator.robot_root_states[:, :3], dof[..., 0])
        if getattr(self.simulator, "_rigid_body_pos", None) is None:
            self.simulator._rigid_body_pos = fresh.clone()
        self.simulator._rigid_body_pos[:] = fresh
        root = self.simulator.robot_root_states[:, None, 3:7]
        self.simulator._rigid_body_rot = root.expand(-1, len(BODIES), -1).clone()


class HumanoidVerseVectorEnv:
    def __init__(self, env: LeggedRobotMotions):
        self._env, self.num_envs = env, env.num_envs

    def _observation(self, to_numpy: bool) -> dict[str, Any]:
        simulator = self._env.simulator
        dof = simulator.dof_state.reshape(self.num_envs, -1, 2)
        gravity = torch.tensor([0.0, 0.0, -1.0]).expand(self.num_envs, 3)
        still = torch.zeros(self.num_envs, 3)
        state = torch.cat([dof[..., 0] - self._env.default_dof_pos, dof[..., 1], gravity, still], dim=-1)
        found = {"state": state, "privileged_state": simulator._rigid_body_pos.reshape(self.num_envs, -1).clone()}
        return {key: value.numpy() for key, value in found.items()} if to_numpy else found

    def reset(self, *, target_states: Any = None, to_numpy: bool = True, **_: Any) -> Any:
        self._env.reset_all(target_states=target_states)
        return self._observation(to_numpy), {}

    def step(self, actions: Any, to_numpy: bool = True) -> Any:
        _, reward, reset, info = self._env.step({"actions": actions})
        terminated, truncated = reset & ~info["time_outs"], info["time_outs"]
        return self._observation(to_numpy), reward, terminated, truncated, info


def build(num_envs: int, motions: dict[str, np.ndarray], **options: Any) -> HumanoidVerseVectorEnv:
    """The one environment of the process."""
    global _singleton
    if _singleton is not None and num_envs != _singleton.num_envs:
        raise ValueError(f"already created with num_envs={_singleton.num_envs}; one per Python instance")
    if _singleton is None:
        _singleton = HumanoidVerseVectorEnv(LeggedRobotMotions(num_envs, motions, **options))
    return _singleton


def close() -> None:
    global _singleton
    _singleton = None


class Tracker(torch.nn.Module):
    """A perfect latent model of the puppet: z is the reference's joints, projected; a calibrated scale undoes it."""

    def __init__(self, gain: float = 1.0):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.tensor(gain))
        self.dropout = torch.nn.Dropout(0.5)
        self.calls: list[tuple[str, int]] = []

    def backward_map(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        self.calls.append(("backward_map", len(obs["state"])))
        return self.dropout(obs["state"][:, : len(JOINTS)])

    def project_z(self, z: torch.Tensor) -> torch.Tensor:
        return z

    def act(self, obs: dict[str, torch.Tensor], z: torch.Tensor, mean: bool = True) -> torch.Tensor:
        assert mean
        assert not torch.is_grad_enabled()
        self.calls.append(("act", len(z)))
        joints = obs["state"][:, : len(JOINTS)]
        return self.gain * (joints + (z - joints) / FOLLOWS) / SCALE
