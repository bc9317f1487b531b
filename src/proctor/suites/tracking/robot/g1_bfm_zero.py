"""The Unitree G1 as BFM-Zero trains it: its default pose, gains, effort limits and armatures; bodies as elsewhere. The
hips' pitch has the strong motor, and the waist is held stiffly."""

from __future__ import annotations

from proctor.suites.tracking.robot.g1 import G1

_JOINTS = {
    ".*_(hip_pitch|hip_roll|knee)_joint": (99.09843, 6.3088, 139.0, 0.025101925),
    ".*_hip_yaw_joint": (40.17924, 2.55789, 88.0, 0.01017752004),
    ".*_ankle_(pitch|roll)_joint": (28.50125, 1.81445, 50.0, 0.00721945),
    "waist_yaw_joint": (300.0, 5.0, 88.0, 0.01017752004),
    "waist_(roll|pitch)_joint": (300.0, 5.0, 50.0, 0.00721945),
    ".*_(shoulder_(pitch|roll|yaw)|elbow|wrist_roll)_joint": (14.25062, 0.90722, 25.0, 0.003609725),
    ".*_wrist_(pitch|yaw)_joint": (16.77833, 1.06814, 5.0, 0.00425),
}
"""Stiffness (Nm/rad), damping (Nm s/rad), effort limit (Nm), armature (kg m^2)."""

G1_BFM_ZERO = G1.updated(
    {
        "name": "unitree_g1_bfm_zero",
        "default_pose": {
            ".*": 0.0,
            ".*_hip_pitch_joint": -0.1,
            ".*_knee_joint": 0.3,
            ".*_ankle_pitch_joint": -0.2,
        },
        "default_height": 0.8,
        **{
            key: {pattern: values[place] for pattern, values in _JOINTS.items()}
            for place, key in enumerate(("stiffness", "damping", "effort_limit", "armature"))
        },
        "action_scale": {pattern: 0.25 * values[2] / values[0] for pattern, values in _JOINTS.items()},
    },
    "builtin:g1_bfm_zero",
)
