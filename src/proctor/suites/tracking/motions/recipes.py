"""Eight motions as curves: joint angles relative to the default pose, the root's orientation, and how the weight is
shared between the feet. `balance.py` makes a motion of them.

All curves go through given points with no speed there, on the path of least jerk, and begin and end at the default
pose. Amplitudes, sides and speeds are drawn from the generator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

Point = tuple[float, float]
SIDES = ("left", "right")
_REST_S = 0.4
"""Standing still at both ends."""
SWINGING = 0.1
"""The share of the weight on a foot in the air: the centre of mass stays within the other sole, on its inner side."""


@dataclass
class Sketch:
    """Curves over the times `t`, (T,). Joints that are not named stay at the default pose."""

    t: np.ndarray
    joints: dict[str, np.ndarray] = field(default_factory=dict)
    """rad, relative to the default pose."""
    pitch: np.ndarray | float = 0.0
    """Of the root: forwards."""
    yaw: np.ndarray | float = 0.0
    """Of the root: to the left."""
    left_share: np.ndarray | float = 0.5
    """Of the weight on the left foot."""

    def add(self, joint: str, curve: np.ndarray) -> None:
        self.joints[joint] = self.joints.get(joint, 0.0) + curve

    def bend_leg(self, side: str, bend: np.ndarray) -> None:
        """Shorten a leg by bending the knee twice as much as hip and ankle: the sole stays level."""
        for joint, factor in (("hip_pitch", -1), ("knee", 2), ("ankle_pitch", -1)):
            self.add(f"{side}_{joint}_joint", factor * bend)


def through(t: np.ndarray, points: Sequence[Point]) -> np.ndarray:
    """A curve through (time, value) points, at rest in each, constant beyond the ends."""
    times, values = np.array(points).T
    after = np.clip(np.searchsorted(times, t, side="right"), 1, len(times) - 1)
    u = np.clip((t - times[after - 1]) / (times[after] - times[after - 1]), 0.0, 1.0)
    return values[after - 1] + (values[after] - values[after - 1]) * u**3 * (10 - 15 * u + 6 * u**2)


def hump(t: np.ndarray, start: float, stop: float, hold: float = 0.3) -> np.ndarray:
    """From 0 to 1 and back between two times; `hold` is the part spent at 1."""
    edge = (stop - start) * (1 - hold) / 2
    return through(t, [(start, 0.0), (start + edge, 1.0), (stop - edge, 1.0), (stop, 0.0)])


def times(duration_s: float, fps: float) -> np.ndarray:
    """From 0 to the duration."""
    return np.arange(round(duration_s * fps) + 1) / fps


def _outwards(side: str) -> int:
    """The sign of roll and yaw that leads away from the body."""
    return 1 if side == "left" else -1


def _swing_arms(sketch: Sketch, joints: dict[str, float], curve: np.ndarray, sides: Sequence[str] = SIDES) -> None:
    """Move arm joints by amounts times a curve; roll and yaw count outwards."""
    for side in sides:
        for joint, amount in joints.items():
            sign = _outwards(side) if joint.endswith(("roll", "yaw")) else 1
            sketch.add(f"{side}_{joint}_joint", sign * amount * curve)


def squat(rng: np.random.Generator, fps: float) -> Sketch:
    """Down and up, arms forward."""
    n, period = int(rng.integers(2, 4)), rng.uniform(1.8, 2.2)
    sketch = Sketch(times(2 * _REST_S + n * period, fps))
    for i in range(n):
        start, depth = _REST_S + i * period, rng.uniform(0.32, 0.42)
        down = hump(sketch.t, start, start + period, 0.1)
        for side in SIDES:
            sketch.bend_leg(side, depth * down)
        _swing_arms(sketch, {"shoulder_pitch": -0.9, "elbow": 0.4}, down)
    return sketch


def wave(rng: np.random.Generator, fps: float) -> Sketch:
    """One arm out to the side, the forearm swinging."""
    duration = rng.uniform(4.5, 6.0)
    sketch = Sketch(times(duration, fps))
    side = str(rng.choice(SIDES))
    up = hump(sketch.t, _REST_S, duration - _REST_S, 0.5)
    _swing_arms(sketch, {"shoulder_roll": 1.3, "shoulder_yaw": 1.3, "elbow": -0.6}, up, [side])
    swing = np.sin(2 * np.pi * rng.uniform(0.8, 1.2) * (sketch.t - _REST_S))
    sketch.add(f"{side}_elbow_joint", 0.4 * up**2 * swing)
    return sketch


def sway(rng: np.random.Generator, fps: float) -> Sketch:
    """From foot to foot, both on the ground."""
    n, period, share = 2, rng.uniform(2.4, 3.2), rng.uniform(0.3, 0.4)
    duration = 2 * _REST_S + n * period
    sketch = Sketch(times(duration, fps))
    side = _outwards(str(rng.choice(SIDES)))
    peaks = [(_REST_S + (i + 0.5) * period / 2, side * (-1.0) ** i) for i in range(2 * n)]
    swing = through(sketch.t, [(_REST_S, 0.0), *peaks, (duration - _REST_S, 0.0)])
    sketch.left_share = 0.5 + share * swing
    sketch.add("waist_roll_joint", 0.12 * swing)
    sketch.add("left_shoulder_roll_joint", 0.25 * swing**2)
    sketch.add("right_shoulder_roll_joint", -0.25 * swing**2)
    return sketch


def bow(rng: np.random.Generator, fps: float) -> Sketch:
    """Forward from hips and waist, and up again."""
    duration, depth = rng.uniform(4.0, 5.5), rng.uniform(0.35, 0.5)
    sketch = Sketch(times(duration, fps))
    down = hump(sketch.t, _REST_S, duration - _REST_S, rng.uniform(0.2, 0.35))
    sketch.pitch = depth * down
    for side in SIDES:
        sketch.add(f"{side}_hip_pitch_joint", -depth * down)
    sketch.add("waist_pitch_joint", rng.uniform(0.25, 0.4) * down)
    _swing_arms(sketch, {"shoulder_pitch": -0.5, "elbow": 0.4}, down)
    return sketch


def reach(rng: np.random.Generator, fps: float) -> Sketch:
    """One hand forward, the trunk turning and leaning with it."""
    duration = rng.uniform(4.0, 5.5)
    sketch = Sketch(times(duration, fps))
    side = str(rng.choice(SIDES))
    out = hump(sketch.t, _REST_S, duration - _REST_S, 0.3)
    _swing_arms(sketch, {"shoulder_pitch": -rng.uniform(1.2, 1.6), "shoulder_roll": -0.1, "elbow": 0.6}, out, [side])
    sketch.add("waist_yaw_joint", -_outwards(side) * rng.uniform(0.3, 0.5) * out)
    sketch.add("waist_pitch_joint", rng.uniform(0.15, 0.3) * out)
    bend = rng.uniform(0.1, 0.2) * out
    for leg in SIDES:
        sketch.bend_leg(leg, bend)
    return sketch


@dataclass(frozen=True)
class _Step:
    """One foot lifted while the other carries the weight."""

    side: str
    start: float
    period: float

    @property
    def carrying(self) -> float:
        """The left foot's share meanwhile."""
        return SWINGING if self.side == "left" else 1 - SWINGING

    @property
    def up(self) -> float:
        return self.start + 0.4 * self.period

    @property
    def down(self) -> float:
        return self.start + 0.85 * self.period


def _steps(n: int, first: str, period: float) -> list[_Step]:
    order = SIDES if first == "left" else SIDES[::-1]
    return [_Step(order[i % 2], _REST_S + i * period, period) for i in range(n)]


def _stepping(steps: Sequence[_Step], fps: float) -> Sketch:
    """The weight over the foot that stays."""
    end = steps[-1].start + 1.4 * steps[-1].period
    sketch = Sketch(times(end + _REST_S, fps))
    points = [point for step in steps for point in ((step.up, step.carrying), (step.down, step.carrying))]
    sketch.left_share = through(sketch.t, [(_REST_S, 0.5), *points, (end, 0.5)])
    return sketch


def step_in_place(rng: np.random.Generator, fps: float) -> Sketch:
    """Feet lifted in turn."""
    steps = _steps(4, str(rng.choice(SIDES)), rng.uniform(1.3, 1.5))
    sketch = _stepping(steps, fps)
    height = rng.uniform(0.3, 0.42)
    for step in steps:
        lift = hump(sketch.t, step.up, step.down, 0.0)
        sketch.bend_leg(step.side, height * lift)
        other = SIDES[step.side == "left"]
        sketch.add(f"{other}_shoulder_pitch_joint", -0.3 * lift)
    return sketch


def turn(rng: np.random.Generator, fps: float) -> Sketch:
    """Small steps that turn the robot about itself."""
    first = str(rng.choice(SIDES))
    steps = _steps(4, first, rng.uniform(1.5, 1.6))
    angle = _outwards(first) * rng.uniform(0.22, 0.28)
    sketch = _stepping(steps, fps)
    feet = {side: np.zeros_like(sketch.t) for side in SIDES}
    for step in steps:
        sketch.bend_leg(step.side, 0.3 * hump(sketch.t, step.up, step.down, 0.0))
        feet[step.side] += through(sketch.t, [(step.up, 0.0), (step.down, angle)])
    sketch.yaw = (feet["left"] + feet["right"]) / 2
    for side in SIDES:
        sketch.add(f"{side}_hip_yaw_joint", feet[side] - sketch.yaw)
    return sketch


def kick(rng: np.random.Generator, fps: float) -> Sketch:
    """One foot lifted and stretched forward."""
    side = str(rng.choice(SIDES))
    step = _Step(side, _REST_S, rng.uniform(3.0, 3.8))
    sketch = _stepping([step], fps)
    lift = hump(sketch.t, step.up, step.down, 0.4)
    sketch.bend_leg(side, 0.25 * lift)
    out = hump(sketch.t, step.up + 0.1 * step.period, step.down - 0.05 * step.period, 0.1)
    sketch.add(f"{side}_hip_pitch_joint", -rng.uniform(0.35, 0.5) * out)
    sketch.add(f"{side}_knee_joint", -rng.uniform(0.5, 0.7) * out)
    _swing_arms(sketch, {"shoulder_roll": 0.4}, lift)
    return sketch


RECIPES: dict[str, Callable[[np.random.Generator, float], Sketch]] = {
    recipe.__name__: recipe for recipe in (squat, wave, sway, bow, step_in_place, reach, turn, kick)
}
