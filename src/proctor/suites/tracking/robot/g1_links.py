"""The links of the Unitree G1 with 29 joints, as numbers: where each sits on its parent, how heavy it is, how its joint
turns, and simple shapes in place of its surface.

The table has the left side; `all_links` adds the right one by reflection in the plane y = 0. Lengths in m, masses in
kg, inertias in kg m^2 about the centre of mass, angles in rad, quaternions wxyz.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
UNTURNED = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Joint:
    """A hinge through the link's origin."""

    name: str
    axis: Vector
    lower: float
    upper: float


@dataclass(frozen=True)
class Mass:
    kg: float
    centre: Vector
    turn: Quaternion
    """Of the principal axes."""
    inertia: Vector
    """About the principal axes."""


@dataclass(frozen=True)
class Shape:
    """`box`: centre and half sizes. `capsule`: one end, the other, and a radius. `sphere`: centre and radius."""

    kind: Literal["box", "capsule", "sphere"]
    first: Vector
    second: Vector = (0.0, 0.0, 0.0)
    radius: float = 0.0
    touches: bool = True
    """Whether the floor can feel it."""
    sole: bool = False
    """A contact point of a foot."""
    dark: bool = False


@dataclass(frozen=True)
class Link:
    name: str
    parent: str
    pos: Vector
    quat: Quaternion
    mass: Mass
    joint: Joint | None
    shapes: tuple[Shape, ...]


_SOLE = tuple(
    Shape("sphere", (x, y, -0.03), radius=0.005, sole=True)
    for x, y in ((-0.05, 0.025), (-0.05, -0.025), (0.12, 0.03), (0.12, -0.03))
)

PELVIS = Link(
    "pelvis", "", (0, 0, 0.793), UNTURNED,
    Mass(3.813, (0, 0, -0.07605), (1, 0, -0.000399148, 0), (0.010549, 0.0093089, 0.0079184)),
    None,
    (Shape("box", (0, 0, -0.09), (0.055, 0.066, 0.058), dark=True),),
)  # fmt: skip

_LEG = (
    Link(
        "left_hip_pitch_link", "pelvis", (0, 0.064452, -0.1027), UNTURNED,
        Mass(1.35, (0.002741, 0.047791, -0.02606), (0.954862, 0.293964, 0.0302556, 0.030122),
             (0.00181517, 0.00153422, 0.00116212)),
        Joint("left_hip_pitch_joint", Y, -2.5307, 2.8798),
        (Shape("capsule", (0, 0.03, -0.012), (0, 0.06, -0.025), 0.04, dark=True),),
    ),
    Link(
        "left_hip_roll_link", "left_hip_pitch_link", (0, 0.052, -0.030465), (0.996179, 0, -0.0873386, 0),
        Mass(1.52, (0.029812, -0.001045, -0.087934), (0.977808, -1.97119e-05, 0.205576, -0.0403793),
             (0.00254986, 0.00241169, 0.00148755)),
        Joint("left_hip_roll_joint", X, -0.5236, 2.9671),
        (Shape("capsule", (0.02, 0, 0), (0.025, 0, -0.085), 0.042),),
    ),
    Link(
        "left_hip_yaw_link", "left_hip_roll_link", (0.025001, 0, -0.12412), UNTURNED,
        Mass(1.702, (-0.057709, -0.010981, -0.15078), (0.600598, 0.15832, 0.223482, 0.751181),
             (0.00776166, 0.00717575, 0.00160139)),
        Joint("left_hip_yaw_joint", Z, -2.7576, 2.7576),
        (Shape("capsule", (-0.005, 0, -0.03), (-0.075, 0, -0.175), 0.045),),
    ),
    Link(
        "left_knee_link", "left_hip_yaw_link", (-0.078273, 0.0021489, -0.17734), (0.996179, 0, 0.0873386, 0),
        Mass(1.932, (0.005457, 0.003964, -0.12074), (0.923418, -0.0327699, 0.0158246, 0.382067),
             (0.0113804, 0.0112778, 0.00146458)),
        Joint("left_knee_joint", Y, -0.087267, 2.8798),
        (Shape("capsule", (0.005, 0, -0.01), (0.005, 0, -0.26), 0.037),),
    ),
    Link(
        "left_ankle_pitch_link", "left_knee_link", (0, -9.4445e-05, -0.30001), UNTURNED,
        Mass(0.074, (-0.007269, 0, 0.011137), (0.603053, 0.369225, 0.369225, 0.603053),
             (1.89e-05, 1.40805e-05, 6.9195e-06)),
        Joint("left_ankle_pitch_joint", Y, -0.87267, 0.5236),
        (Shape("sphere", (0, 0, 0), radius=0.02, touches=False, dark=True),),
    ),
    Link(
        "left_ankle_roll_link", "left_ankle_pitch_link", (0, 0, -0.017558), UNTURNED,
        Mass(0.608, (0.026505, 0, -0.016425), (-0.000481092, 0.728482, -0.000618967, 0.685065),
             (0.00167218, 0.0016161, 0.000217621)),
        Joint("left_ankle_roll_joint", X, -0.2618, 0.2618),
        (Shape("box", (0.038, 0, -0.02), (0.1, 0.034, 0.013), touches=False, dark=True), *_SOLE),
    ),
)  # fmt: skip

_WAIST = (
    Link(
        "waist_yaw_link", "pelvis", (0, 0, 0), UNTURNED,
        Mass(0.214, (0.003494, 0.000233, 0.018034), (0.289697, 0.591001, -0.337795, 0.672821),
             (0.000163531, 0.000107714, 0.000102205)),
        Joint("waist_yaw_joint", Z, -2.618, 2.618),
        (Shape("capsule", (0, 0, 0), (0, 0, 0.03), 0.042, touches=False, dark=True),),
    ),
    Link(
        "waist_roll_link", "waist_yaw_link", (-0.0039635, 0, 0.044), UNTURNED,
        Mass(0.086, (0, 2.3e-05, 0), (0.5, 0.5, -0.5, 0.5), (8.245e-06, 7.079e-06, 6.339e-06)),
        Joint("waist_roll_joint", X, -0.52, 0.52),
        (Shape("sphere", (0, 0, 0), radius=0.02, touches=False),),
    ),
    Link(
        "torso_link", "waist_roll_link", (0, 0, 0), UNTURNED,
        Mass(7.818, (0.00203158, 0.000339683, 0.184568), (0.999803, -6.03319e-05, 0.0198256, 0.00131986),
             (0.121847, 0.109825, 0.0273735)),
        Joint("waist_pitch_joint", Y, -0.52, 0.52),
        (
            Shape("box", (0.008, 0, 0.2), (0.07, 0.1, 0.1)),
            Shape("capsule", (0.008, -0.02, 0.06), (0.008, 0.02, 0.06), 0.058),
            Shape("capsule", (0.01, 0, 0.36), (0.01, 0, 0.425), 0.062, dark=True),
        ),
    ),
)  # fmt: skip

_ARM = (
    Link(
        "left_shoulder_pitch_link", "torso_link", (0.0039563, 0.10022, 0.24778),
        (0.990264, 0.139201, 1.38722e-05, -9.86868e-05),
        Mass(0.718, (0, 0.035892, -0.011628), (0.654152, 0.0130458, -0.326267, 0.68225),
             (0.000465864, 0.000432842, 0.000406394)),
        Joint("left_shoulder_pitch_joint", Y, -3.0892, 2.6704),
        (Shape("capsule", (0, 0.02, -0.005), (0, 0.045, -0.01), 0.032, dark=True),),
    ),
    Link(
        "left_shoulder_roll_link", "left_shoulder_pitch_link", (0, 0.038, -0.013831), (0.990268, -0.139172, 0, 0),
        Mass(0.643, (-0.000227, 0.00727, -0.063243), (0.701256, -0.0196223, -0.00710317, 0.712604),
             (0.000691311, 0.000618011, 0.000388977)),
        Joint("left_shoulder_roll_joint", X, -1.5882, 2.2515),
        (Shape("capsule", (0, 0.002, 0), (0, 0.006, -0.075), 0.034),),
    ),
    Link(
        "left_shoulder_yaw_link", "left_shoulder_roll_link", (0, 0.00624, -0.1032), UNTURNED,
        Mass(0.734, (0.010773, -0.002949, -0.072009), (0.716879, -0.0964829, -0.0679942, 0.687134),
             (0.00106187, 0.00103217, 0.000400661)),
        Joint("left_shoulder_yaw_joint", Z, -2.618, 2.618),
        (Shape("capsule", (0, 0, 0), (0.014, 0, -0.078), 0.033),),
    ),
    Link(
        "left_elbow_link", "left_shoulder_yaw_link", (0.015783, 0, -0.080518), UNTURNED,
        Mass(0.6, (0.064956, 0.004454, -0.010062), (0.541765, 0.636132, 0.388821, 0.388129),
             (0.000443035, 0.000421612, 0.000259353)),
        Joint("left_elbow_joint", Y, -1.0472, 2.0944),
        (Shape("capsule", (0.005, 0, -0.003), (0.085, 0, -0.01), 0.031),),
    ),
    Link(
        "left_wrist_roll_link", "left_elbow_link", (0.1, 0.00188791, -0.01), UNTURNED,
        Mass(0.085445, (0.0171394, 0.000537591, 4.8864e-07), (0.575338, 0.411667, -0.574906, 0.411094),
             (5.48211e-05, 4.96646e-05, 3.57798e-05)),
        Joint("left_wrist_roll_joint", X, -1.97222, 1.97222),
        (Shape("capsule", (0.012, 0, 0), (0.035, 0, 0), 0.029, dark=True),),
    ),
    Link(
        "left_wrist_pitch_link", "left_wrist_roll_link", (0.038, 0, 0), UNTURNED,
        Mass(0.48405, (0.0229999, -0.00111685, -0.00111658), (0.249998, 0.661363, 0.293036, 0.643608),
             (0.000430353, 0.000429873, 0.000164648)),
        Joint("left_wrist_pitch_joint", Y, -1.61443, 1.61443),
        (Shape("capsule", (0, 0, 0), (0.046, 0, 0), 0.028),),
    ),
    Link(
        "left_wrist_yaw_link", "left_wrist_pitch_link", (0.046, 0, 0), UNTURNED,
        Mass(0.254576, (0.0708244, 0.000191745, 0.00161742), (0.510571, 0.526295, 0.468078, 0.493188),
             (0.000646113, 0.000559993, 0.000147566)),
        Joint("left_wrist_yaw_joint", Z, -1.61443, 1.61443),
        (
            Shape("capsule", (0.01, 0, 0), (0.04, 0, 0), 0.025, dark=True),
            Shape("box", (0.11, -0.008, 0.005), (0.055, 0.022, 0.035), dark=True),
        ),
    ),
)  # fmt: skip

_RIGHT: dict[str, dict[str, Any]] = {
    "right_shoulder_pitch_link": {"pos": (0.0039563, -0.10021, 0.24778)},
    "right_knee_link": {
        "mass": Mass(1.932, (0.005457, -0.003964, -0.12074), (0.923439, 0.0345276, 0.0116333, -0.382012),
                     (0.011374, 0.0112843, 0.00146452))
    },
}  # fmt: skip
"""Where the right side is no exact reflection."""


def all_links() -> Iterator[Link]:
    """Every link after its parent; joints in the robot's order: left leg, right leg, waist, left arm, right arm."""
    yield PELVIS
    yield from _LEG
    yield from map(_reflected, _LEG)
    yield from _WAIST
    yield from _ARM
    yield from map(_reflected, _ARM)


def _reflected(link: Link) -> Link:
    mass, joint = link.mass, link.joint
    assert joint is not None
    across = joint.axis == Y
    reflected = Link(
        name=_right(link.name),
        parent=_right(link.parent),
        pos=_flip(link.pos),
        quat=_flip_turn(link.quat),
        mass=replace(mass, centre=_flip(mass.centre), turn=_flip_turn(mass.turn)),
        joint=replace(
            joint,
            name=_right(joint.name),
            lower=joint.lower if across else -joint.upper,
            upper=joint.upper if across else -joint.lower,
        ),
        shapes=tuple(
            replace(s, first=_flip(s.first), second=s.second if s.kind == "box" else _flip(s.second))
            for s in link.shapes
        ),
    )
    return replace(reflected, **_RIGHT.get(reflected.name, {}))


def _right(name: str) -> str:
    return name.replace("left_", "right_", 1)


def _flip(vector: Vector) -> Vector:
    return vector[0], -vector[1], vector[2]


def _flip_turn(quat: Quaternion) -> Quaternion:
    return quat[0], -quat[1], quat[2], -quat[3]
