"""What policies of mjlab, and of others that follow BeyondMimic, observe, made of the groups `state`, `reference`, `qpos`
and `qvel` of a tracking task.

| term | entries | |
|---|---|---|
| `command` | 2J | joint positions and velocities of the reference, in the frame that is to be reached next |
| `motion_anchor_pos_b`, `motion_anchor_ori_b` | 3, 6 | the reference's anchor there, in the robot's anchor frame: position, first two columns of the rotation matrix, row by row |
| `base_lin_vel`, `base_ang_vel` | 3, 3 | as the inertial sensor in the pelvis gives them: where it sits, in its own frame |
| `projected_gravity` | 3 | in the root's frame, of length 1 |
| `joint_pos`, `joint_vel` | J, J | less the default pose |
| `actions`, `last_action` | J | what the network gave last; zeros at first |
"""  # noqa: E501 - a table

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.suites.tracking.robot.g1 import G1_JOINTS
from proctor.suites.tracking.rotations import into

GROUPS = ("state", "reference", "qpos", "qvel")
NEXT = 1
"""The offset of the frame that is to be reached next."""
IMU_SITE, IMU_OF_G1_M = "imu_in_pelvis", (0.04525, 0.0, -0.08339)
LAST = ("actions", "last_action")
Made = Callable[[Mapping[str, np.ndarray]], np.ndarray]


@dataclass(frozen=True)
class Terms:
    """The terms of one task's robot, with J joints. `at`: where the next frame is in the window of `reference`.
    `imu_m`: where the sensor sits in the root's frame."""

    joints: int
    at: int
    imu_m: np.ndarray

    @staticmethod
    def of(briefing: Any, task: str, imu_m: tuple[float, float, float] | None) -> Terms:
        """For a task that tells of its robot and gives the groups that are needed; InputError otherwise."""
        options, robot = briefing.options, briefing.robot
        missing = [group for group in GROUPS if group not in options.groups]
        if missing or NEXT not in options.reference_offsets:
            raise InputError(
                f'task "{task}" does not give what the terms are made of; set its options to observations: '
                f"[{', '.join(GROUPS)}] and reference_offsets: [{NEXT}]"
            )
        place = np.array(_imu(robot) if imu_m is None else imu_m, np.float64)
        return Terms(robot.description.n_joints, options.reference_offsets.index(NEXT), place)

    def sizes(self) -> dict[str, int]:
        """Term -> its entries."""
        j = self.joints
        three = dict.fromkeys(("motion_anchor_pos_b", "base_lin_vel", "base_ang_vel", "projected_gravity"), 3)
        of_joints = dict.fromkeys(("joint_pos", "joint_vel", *LAST), j)
        return {"command": 2 * j, "motion_anchor_ori_b": 6, **three, **of_joints}

    def make(self, name: str, seen: Mapping[str, np.ndarray], last: np.ndarray) -> np.ndarray:
        """One term (rows, entries) of the observation `seen` and the last outputs (rows, J)."""
        if name in LAST:
            return last
        return self._made()[name](seen)

    def _made(self) -> dict[str, Made]:
        j, at = self.joints, self.at
        return {
            "command": lambda seen: seen["reference"][:, at, : 2 * j],
            "motion_anchor_pos_b": lambda seen: seen["reference"][:, at, 2 * j : 2 * j + 3],
            "motion_anchor_ori_b": lambda seen: seen["reference"][:, at, 2 * j + 3 : 2 * j + 9],
            "base_lin_vel": self._velocity,
            "base_ang_vel": lambda seen: seen["state"][:, 2 * j + 3 : 2 * j + 6],
            "projected_gravity": lambda seen: seen["state"][:, 2 * j : 2 * j + 3],
            "joint_pos": lambda seen: seen["state"][:, :j],
            "joint_vel": lambda seen: seen["state"][:, j : 2 * j],
        }

    def _velocity(self, seen: Mapping[str, np.ndarray]) -> np.ndarray:
        """Of the sensor's place, in the root's frame."""
        qpos, qvel = seen["qpos"], seen["qvel"]
        return into(qpos[:, 3:7], qvel[:, :3]) + np.cross(qvel[:, 3:6], self.imu_m)


def _imu(robot: Any) -> tuple[float, ...]:
    """Where the model has its sensor, else where the G1 has it, else the root's origin."""
    sites = {site.name: site for site in robot.spec.sites}
    if IMU_SITE in sites:
        return tuple(float(x) for x in sites[IMU_SITE].pos)
    return IMU_OF_G1_M if frozenset(robot.description.joint_names) == G1_JOINTS else (0.0, 0.0, 0.0)
