"""A small double of a HumanoidVerse environment: the attributes, shapes, dtypes and habits of the real one (one per
process, all worlds reset together, worlds on a grid, float32 tensors, global random generators, a library that holds a
part of its motions), with a puppet for a simulator. What the real classes do that nobody would guess, it does too; a
genuine-code test (tests/training/test_genuine_bfm_zero.py) holds the two together.

The puppet: each joint goes a part of the way to its target in each step; bodies hang on the root by joint angles, so
that positions follow from the state and can be computed by hand."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import humanoidverse_simulators as simulators
import numpy as np
import torch
from humanoidverse_simulators import BODIES, HEAD, JOINTS, body_positions

__all__ = ["BODIES", "HEAD", "JOINTS", "LeggedRobotMotions", "MotionLib", "Tracker", "TrajectoryDictBuffer", "build"]

DT = 0.02
SCALE = 0.5
FOLLOWS = 0.8
SPACING_M = 5.0
PUSH_EVERY = 7

_singleton: Any = None


class MotionLib:
    """`motions`: by name (frames, 3 + J), root position and joints; `root_rot`: the xyzw rotation of the root in all of
    them."""

    def __init__(self, motions: dict[str, np.ndarray], root_rot: Any = (0.0, 0.0, 0.0, 1.0)):
        self._motion_data_list = [torch.tensor(m, dtype=torch.float32) for m in motions.values()]
        self._motion_data_keys = np.array(list(motions))
        self._num_unique_motions = len(motions)
        self._sampling_prob = torch.ones(len(motions)) / len(motions)
        self._device, self._root_rot = "cpu", torch.tensor(root_rot)
        self.all_motions_loaded = False

    def load_motions(self, random_sample: bool = True, num_motions_to_load: int | None = None, start_idx: int = 0):
        """What was loaded is let go of first, as in the real one."""
        if "gts" in self.__dict__:
            del self.gts
        count = num_motions_to_load or self._num_unique_motions
        ids = (
            torch.multinomial(self._sampling_prob, count, replacement=True)
            if random_sample
            else torch.clamp(torch.arange(count) + start_idx, max=self._num_unique_motions - 1)
        )
        self._curr_motion_ids = ids
        self.curr_motion_keys = self._motion_data_keys[ids.numpy()].tolist()
        batch = self._sampling_prob[ids]
        self._sampling_batch_prob = batch / batch.sum()
        loaded = [self._motion_data_list[i] for i in ids.tolist()]
        self._motion_lengths = torch.tensor([(len(m) - 1) * DT for m in loaded], dtype=torch.float32)
        self._starts = np.cumsum([0, *(len(m) for m in loaded)])
        self.gts = torch.cat(loaded)

    def load_motions_for_training(self, max_num_seqs: int | None = None) -> None:
        if self.all_motions_loaded:
            return
        self.all_motions_loaded = max_num_seqs is None or max_num_seqs > self._num_unique_motions
        count = self._num_unique_motions if self.all_motions_loaded else max_num_seqs
        self.load_motions(random_sample=not self.all_motions_loaded, num_motions_to_load=count)

    def load_motions_for_evaluation(self, start_idx: int = 0) -> None:
        if not self.all_motions_loaded:
            self.all_motions_loaded = True
            self.load_motions(random_sample=False, start_idx=start_idx)

    def sample_motions(self, n: int) -> torch.Tensor:
        return torch.multinomial(self._sampling_batch_prob, n, replacement=True)

    def get_motion_state(self, motion_ids: torch.Tensor, motion_times: torch.Tensor) -> dict[str, torch.Tensor]:
        last = self._motion_lengths[motion_ids]
        frames = torch.minimum(motion_times, last).div(DT).round().long()
        rows = self.gts[torch.as_tensor(self._starts)[motion_ids] + frames]
        n, root, joints = len(rows), rows[:, :3], rows[:, 3:]
        rotation = self._root_rot.expand(n, len(BODIES) + 1, 4)
        position = body_positions(root, joints, self._root_rot.expand(n, 4))
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
        assert len(motions_id) == len(priorities)
        assert sum(priorities) > 0
        for motion in motions_id:
            assert file_name is None or self._motion_data_keys[motion] == file_name[motion]
        self._sampling_prob = torch.zeros(self._num_unique_motions)
        self._sampling_prob[motions_id] = torch.tensor(priorities, dtype=torch.float32) / sum(priorities)
        batch = self._sampling_prob[self._curr_motion_ids]
        self._sampling_batch_prob = batch / batch.sum()


class LeggedRobotMotions:
    """The inner environment, with a simulator of one of the real classes' names. It pushes its worlds every few steps
    (which is counted only) unless it is evaluating."""

    def __init__(
        self,
        num_envs: int,
        motions: dict[str, np.ndarray],
        strength: torch.Tensor | None = None,
        simulator: str = "IsaacGym",
        root_rot: Any = (0.0, 0.0, 0.0, 1.0),
    ):
        self.num_envs, self.device, self.dt = num_envs, "cpu", DT
        self.default_dof_pos = torch.zeros(1, len(JOINTS))
        self.config = SimpleNamespace(obs=SimpleNamespace(root_height_obs=True))
        self.simulator = getattr(simulators, simulator)(num_envs)
        self.simulator._body_list.append(HEAD)
        self.env_origins = torch.arange(num_envs)[:, None] * torch.tensor([SPACING_M, 0.0, 0.0])
        self.is_evaluating, self.max_episode_length = False, np.float64(20.0)
        self.strength = torch.ones(num_envs) if strength is None else strength
        self.common_step_counter, self.pushed, self.reward_penalty_scale = 0, 0, 0.5
        self.motion_ids = torch.zeros(num_envs, dtype=torch.long)
        self._motion_lib = MotionLib(motions, root_rot)
        self.resample_motion()

    def set_is_evaluating(self, global_rank: int = 0) -> None:
        self.is_evaluating = True
        self._motion_lib.load_motions_for_evaluation()
        self.reset_all()

    def set_is_training(self) -> None:
        self.is_evaluating = False
        self.resample_motion()

    def resample_motion(self) -> None:
        self._motion_lib.load_motions_for_training(max_num_seqs=self.num_envs)
        self.reset_all()

    def reset_all(self, target_states: dict[str, torch.Tensor] | None = None) -> Any:
        n = self.num_envs
        self.reward_penalty_scale *= 1.00001
        self.motion_ids[:] = self._motion_lib.sample_motions(n)
        if target_states is None:
            random.random(), np.random.rand()  # noqa: NPY002 - a habit of the real one
            dof = torch.rand(n, len(JOINTS), 2)
            root = torch.zeros(n, 13)
            root[:, [6, 3][self.simulator.writes_wxyz]] = 1.0
            target_states = {"dof_states": dof, "root_states": root}
        assert target_states["dof_states"].shape == (n, len(JOINTS), 2)
        root = target_states["root_states"].clone()
        root[:, :3] += self.env_origins
        self.simulator.set_actor_root_state_tensor(root)
        self.simulator.set_dof_state_tensor(target_states["dof_states"].clone())
        self.episode_length_buf = torch.zeros(n, dtype=torch.long)
        return {}, {}

    def step(self, actions: dict[str, torch.Tensor]) -> Any:
        action = actions["actions"]
        assert action.dtype is torch.float32
        self.common_step_counter += 1
        if not self.is_evaluating and self.common_step_counter % PUSH_EVERY == 0:
            self.pushed += 1
        dof = self.simulator.dof_state
        target = self.default_dof_pos + SCALE * action
        dof[..., 0] += FOLLOWS * self.strength[:, None] * (target - dof[..., 0])
        self.episode_length_buf += 1
        time_outs = self.episode_length_buf > self.max_episode_length
        dof[time_outs] = 9.0
        self.episode_length_buf[time_outs] = 0
        self.simulator.simulate(dof)
        return {}, torch.zeros(self.num_envs), time_outs, {"time_outs": time_outs}


class HumanoidVerseVectorEnv:
    def __init__(self, env: LeggedRobotMotions):
        self._env, self.num_envs = env, env.num_envs

    def _observation(self, to_numpy: bool) -> dict[str, Any]:
        dof = self._env.simulator.dof_state
        gravity = torch.tensor([0.0, 0.0, -1.0]).expand(self.num_envs, 3)
        still = torch.zeros(self.num_envs, 3)
        state = torch.cat([dof[..., 0] - self._env.default_dof_pos, dof[..., 1], gravity, still], dim=-1)
        bodies = self._env.simulator._rigid_body_pos
        found = {"state": state, "privileged_state": bodies.reshape(self.num_envs, -1).clone()}
        return {key: value.numpy() for key, value in found.items()} if to_numpy else found

    def reset(self, *, target_states: Any = None, to_numpy: bool = True, **_: Any) -> Any:
        self._env.reset_all(target_states=target_states)
        return self._observation(to_numpy), {}

    def step(self, actions: Any, to_numpy: bool = True) -> Any:
        _, reward, reset, info = self._env.step({"actions": actions})
        terminated, truncated = reset & ~info["time_outs"], info["time_outs"]
        return self._observation(to_numpy), reward, terminated, truncated, info


class TrajectoryDictBuffer:
    """The expert buffer: a priority per trajectory, by torch alone; which motion each is of, and no names but those
    that its maker hangs on it afterwards."""

    def __init__(self, motion_ids: list[int], file_names: list[str] | None = None, device: str = "cpu"):
        self.motion_ids, self.device = motion_ids, device
        self.priorities = torch.ones(len(motion_ids)) / len(motion_ids)
        if file_names is not None:
            self.file_names = file_names

    def update_priorities(self, priorities: torch.Tensor, idxs: torch.Tensor) -> None:
        assert len(priorities) == len(self.priorities)
        self.priorities[idxs] = priorities
        self.priorities = self.priorities / torch.sum(self.priorities)


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
