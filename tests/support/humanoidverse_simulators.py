"""Puppets with the names and habits of HumanoidVerse's simulators. All show root states as xyzw; what they take and
when their bodies follow is each one's own:

- `IsaacSim` takes root states with the quaternion wxyz.
- `IsaacGym` takes xyzw; its tensors are views that the next step overwrites in place.
- `MuJoCo` has one world and takes xyzw. Its `body_names` is the very list that the environment appends the names of
  bodies to that no simulator has. Angular velocities are turned into the root's frame with the orientation before the
  reset. Its bodies stand where they stood before the last physics step: after a reset, at the end of the episode
  before."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

JOINTS = ("hip", "knee", "left_wrist")
BODIES = ("pelvis", "torso_link", "shin", "left_wrist_link")
HEAD = "head"
OFFSETS = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.4), (0.0, 0.0, -0.4), (0.2, 0.0, 0.3))
SWING = 0.1


def turn(quat: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
    """Vectors (..., 3) turned by xyzw quaternions (..., 4)."""
    axis, w = quat[..., :3], quat[..., 3:]
    twice = 2.0 * torch.linalg.cross(axis, vector, dim=-1)
    return vector + w * twice + torch.linalg.cross(axis, twice, dim=-1)


def body_positions(root: torch.Tensor, joints: torch.Tensor, quat: torch.Tensor) -> torch.Tensor:
    """(n, B, 3) of root positions (n, 3), joint angles (n, J) and xyzw root rotations (n, 4)."""
    swing = torch.cat([torch.zeros(len(joints), 1), joints], dim=1)
    local = torch.tensor(OFFSETS) + SWING * swing[..., None] * torch.tensor([1.0, 0.0, 0.0])
    return root[:, None] + turn(quat[:, None].expand(-1, len(BODIES), 4), local)


class IsaacGym:
    writes_wxyz: ClassVar[bool] = False

    def __init__(self, num_envs: int):
        self.dof_names, self.body_names = list(JOINTS), list(BODIES)
        self._body_list = self.body_names.copy()
        self.robot_root_states = torch.zeros(num_envs, 13)
        self.dof_state = torch.zeros(num_envs, len(JOINTS), 2)
        self._rigid_body_pos = torch.zeros(num_envs, len(BODIES), 3)
        self._rigid_body_rot = torch.zeros(num_envs, len(BODIES), 4)

    def set_actor_root_state_tensor(self, root_states: torch.Tensor) -> None:
        order = [0, 1, 2, *((4, 5, 6, 3) if self.writes_wxyz else (3, 4, 5, 6)), *range(7, 13)]
        self.robot_root_states[:] = root_states[:, order]

    def set_dof_state_tensor(self, dof_states: torch.Tensor) -> None:
        self.dof_state[:] = dof_states
        self._move_bodies()

    def simulate(self, dof_states: torch.Tensor) -> None:
        self.set_dof_state_tensor(dof_states)

    def _move_bodies(self) -> None:
        root = self.robot_root_states
        self._rigid_body_pos[:] = body_positions(root[:, :3], self.dof_state[..., 0], root[:, 3:7])
        self._rigid_body_rot[:] = root[:, None, 3:7]


class IsaacSim(IsaacGym):
    writes_wxyz: ClassVar[bool] = True


class MuJoCo:
    writes_wxyz: ClassVar[bool] = False

    def __init__(self, num_envs: int):
        import mujoco

        assert num_envs == 1, "MuJoCo does not support multiple environments in a single simulation"
        slides = "".join(
            f'<body name="{body}" pos="{x} {y} {z}"><joint name="{joint}" type="slide" axis="1 0 0"/>'
            '<geom size="0.01" contype="0" conaffinity="0"/></body>'
            for body, joint, (x, y, z) in zip(BODIES[1:], JOINTS, OFFSETS[1:], strict=True)
        )
        free = f'<body name="{BODIES[0]}"><freejoint/><geom size="0.01" contype="0" conaffinity="0"/>{slides}</body>'
        self.model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{free}</worldbody></mujoco>")
        self.data = mujoco.MjData(self.model)
        self.dof_names, self.body_names = list(JOINTS), list(BODIES)
        self._body_list = self.body_names

    def set_actor_root_state_tensor(self, root_states: torch.Tensor) -> None:
        before = self.robot_root_states[:, 3:7] * torch.tensor([-1.0, -1.0, -1.0, 1.0])
        root_states[:, 10:13] = turn(before, root_states[:, 10:13])
        self.data.qpos[:7] = root_states[0, [0, 1, 2, 6, 3, 4, 5]]
        self.data.qvel[:6] = root_states[0, 7:]

    def set_dof_state_tensor(self, dof_states: torch.Tensor) -> None:
        self.data.qpos[7:] = SWING * dof_states[0, :, 0]
        self.data.qvel[6:] = SWING * dof_states[0, :, 1]

    def simulate(self, dof_states: torch.Tensor) -> None:
        import mujoco

        mujoco.mj_forward(self.model, self.data)
        self.set_dof_state_tensor(dof_states)

    @property
    def dof_state(self) -> torch.Tensor:
        return torch.stack([self._tensor(self.data.qpos[7:]), self._tensor(self.data.qvel[6:])], dim=-1) / SWING

    @property
    def robot_root_states(self) -> torch.Tensor:
        quat = self._tensor(self.data.qpos[[4, 5, 6, 3]])
        angular = turn(quat, self._tensor(self.data.qvel[3:6]))
        return torch.cat([self._tensor(self.data.qpos[:3]), quat, self._tensor(self.data.qvel[:3]), angular], dim=-1)

    @property
    def _rigid_body_pos(self) -> torch.Tensor:
        return self._tensor(self.data.xpos[1:])

    @property
    def _rigid_body_rot(self) -> torch.Tensor:
        return self._tensor(self.data.xquat[1:, [1, 2, 3, 0]])

    def _tensor(self, values: Any) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.float32)[None]
