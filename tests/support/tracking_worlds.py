"""A robot, a few short motions and what tests do with worlds that follow them."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from proctor.suites.tracking.batch import TrackingBatchEnv
from proctor.suites.tracking.motions import MotionLibrary, load_motions
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.robot import Robot, load_robot

ALL_GROUPS = (
    "state", "privileged_state", "history", "last_action", "root_height", "reference", "motion", "frame", "qpos",
    "qvel", "xpos", "xquat",
)  # fmt: skip

EVERYTHING_RANDOM: dict[str, Any] = {
    "randomise": {
        "mass": [0.8, 1.2],
        "friction": [0.4, 1.2],
        "stiffness": [0.8, 1.2],
        "damping": [0.5, 1.5],
        "pushes": {"every_s": [0.04, 0.1], "velocity_m_s": 1.0},
    },
    "noise": {"joint_pos": 0.02, "joint_vel": 0.5, "gravity": 0.05, "angular_velocity": 0.2},
}


@functools.cache
def g1() -> Robot:
    return load_robot("builtin:g1")


@functools.cache
def short_motions() -> MotionLibrary:
    """Three motions of 20, 30 and 12 frames."""
    whole = load_motions(["procedural:squat", "procedural:wave", "procedural:turn"], g1())
    return MotionLibrary(
        [whole.reference(i).clip(whole.names[i], 40, 40 + frames) for i, frames in enumerate((20, 30, 12))]
    )


def options(**keys: Any) -> TrackingOptions:
    return TrackingOptions.model_validate({"motions": "procedural:all", "threads": 2, **keys})


def batch_env(n: int, **keys: Any) -> TrackingBatchEnv:
    return TrackingBatchEnv(g1(), short_motions(), n, options(**keys))


def wiggle(seed: int, step: int) -> np.ndarray:
    """An action that depends on the trial and the step alone."""
    joints = g1().description.n_joints
    return (0.5 * np.sin(0.3 * step + np.arange(joints) * (1 + seed % 7))).astype(np.float32)


def bytes_of(tree: Any) -> Any:
    """A nest of arrays as values that compare equal exactly when they are equal to the byte."""
    if isinstance(tree, Mapping):
        return {key: bytes_of(value) for key, value in tree.items()}
    if isinstance(tree, Sequence) and not isinstance(tree, str):
        return [bytes_of(value) for value in tree]
    array = np.asarray(tree)
    return array.dtype.str, array.shape, array.tobytes()


def episode(env: TrackingBatchEnv, world: int, trial: int, neighbours: Sequence[int], steps: int = 10) -> list[Any]:
    """The trial with seed and index `trial` in one world, with others beside it, as bytes."""
    trials = {world: trial, **dict(zip((w for w in range(env.num_worlds) if w != world), neighbours, strict=False))}
    first = dict(zip(trials, env.reset(list(trials), list(trials.values()), list(trials.values())), strict=True))
    seen = [bytes_of(first[world]), bytes_of(dict(env.constants(world)))]
    for step in range(steps):
        found = env.step({w: wiggle(t, step) for w, t in trials.items()})[world]
        seen.append(bytes_of(list(found)))
    return seen


def window_parts(robot: Robot) -> dict[str, slice]:
    """Where the parts of a row of `reference` are."""
    joints = robot.description.n_joints
    sizes = {
        "joint_pos": joints, "joint_vel": joints, "anchor_pos": 3, "anchor_rotation": 6, "base_lin_vel": 3,
        "base_ang_vel": 3,
    }  # fmt: skip
    ends = np.cumsum(list(sizes.values())).tolist()
    return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}
