"""The Unitree G1 with 29 joints: what its joints and bodies are for.

Gains follow from the motors, as is common in motion tracking: a motor's rotor inertia, seen through its gears, is the
joint's armature; stiffness and damping give that inertia a natural frequency of 10 Hz and a damping ratio of 2; an
action of one moves the target by a quarter of the angle at which the motor saturates. Ankles and the waist's roll and
pitch are driven by two small motors each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from proctor.suites.tracking.robot.config import AttachedBody, DescriptionCfg

_FREQUENCY = 10 * 2 * math.pi
_DAMPING_RATIO = 2.0


@dataclass(frozen=True)
class _Motor:
    joints: str
    """Pattern of joint names."""
    armature: float
    """kg m^2."""
    effort: float
    """Nm."""

    @property
    def stiffness(self) -> float:
        return self.armature * _FREQUENCY**2

    @property
    def damping(self) -> float:
        return 2 * _DAMPING_RATIO * self.armature * _FREQUENCY


_SMALL = 0.003609725
_MOTORS = (
    _Motor(".*_hip_(pitch|yaw)_joint|waist_yaw_joint", 0.01017752, 88),
    _Motor(".*_(hip_roll|knee)_joint", 0.025101925, 139),
    _Motor(".*_ankle_(pitch|roll)_joint|waist_(roll|pitch)_joint", 2 * _SMALL, 50),
    _Motor(".*_(shoulder_(pitch|roll|yaw)|elbow|wrist_roll)_joint", _SMALL, 25),
    _Motor(".*_wrist_(pitch|yaw)_joint", 0.00425, 5),
)

_LEG = ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")
_ARM = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow")
_WRIST = ("wrist_roll", "wrist_pitch", "wrist_yaw")


def _links(arm: tuple[str, ...]) -> list[str]:
    legs = [f"{side}_{part}_link" for side in ("left", "right") for part in _LEG]
    arms = [f"{side}_{part}_link" for side in ("left", "right") for part in arm]
    return ["pelvis", *legs, "waist_yaw_link", "waist_roll_link", "torso_link", *arms]


G1_JOINTS = frozenset(
    [f"{side}_{part}_joint" for side in ("left", "right") for part in (*_LEG, *_ARM, *_WRIST)]
    + [f"waist_{part}_joint" for part in ("yaw", "roll", "pitch")]
)

G1 = DescriptionCfg(
    name="unitree_g1",
    default_pose={
        ".*": 0.0,
        ".*_hip_pitch_joint": -0.312,
        ".*_knee_joint": 0.669,
        ".*_ankle_pitch_joint": -0.363,
        ".*_shoulder_pitch_joint": 0.2,
        "left_shoulder_roll_joint": 0.2,
        "right_shoulder_roll_joint": -0.2,
        ".*_elbow_joint": 0.6,
    },
    default_height=0.76,
    stiffness={motor.joints: motor.stiffness for motor in _MOTORS},
    damping={motor.joints: motor.damping for motor in _MOTORS},
    effort_limit={motor.joints: motor.effort for motor in _MOTORS},
    armature={motor.joints: motor.armature for motor in _MOTORS},
    action_scale={motor.joints: 0.25 * motor.effort / motor.stiffness for motor in _MOTORS},
    anchor_body="torso_link",
    tracked_bodies=_links(_ARM),
    observed_bodies=[*_links(_ARM + _WRIST), "head"],
    attached_bodies=[AttachedBody(name="head", parent="torso_link", pos=(0.0, 0.0, 0.35))],
)
