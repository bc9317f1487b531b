"""What a model file says of the robot it was made for, and what follows for its actions and for the
order in which it sees the entries of a dict observation.

The exporters of mjlab, Isaac Lab and those around rsl_rl store `joint_names, joint_stiffness, joint_damping,
default_joint_pos, action_scale, observation_names, anchor_body_name` as text with commas. A policy on another robot
gives numbers, but no meaning: names, order, default pose and gains are compared with the task's robot. An action scale
of its own is honoured; one number is meant for all joints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from proctor.errors import InputError
from proctor.policies.preprocess import Ordering
from proctor.policies.protocol import SpaceInfo

if TYPE_CHECKING:
    from proctor.policies.from_onnx import OnnxOptions


_ROUNDED = 2e-3
"""Exporters round to three digits."""
_LAST_DIGIT = 5.1e-4
"""What rounding to three decimals takes away: an action scale so near to the robot's is the robot's."""


@dataclass(frozen=True)
class RobotMetadata:
    """None: the file does not say."""

    joint_names: tuple[str, ...] | None = None
    default_joint_pos: np.ndarray | None = None
    action_scale: np.ndarray | None = None
    joint_stiffness: np.ndarray | None = None
    joint_damping: np.ndarray | None = None
    anchor_body_name: str | None = None
    observation_names: tuple[str, ...] | None = None

    @property
    def tells_robot(self) -> bool:
        """Whether the file says anything of a robot."""
        said = (self.joint_names, self.default_joint_pos, self.action_scale, self.joint_stiffness, self.joint_damping)
        return any(value is not None for value in (*said, self.anchor_body_name))

    @staticmethod
    def read(found: Mapping[str, str], path: Path) -> RobotMetadata:
        """From a file's metadata. Raises InputError for numbers that are none."""
        names, observed = (
            tuple(n.strip() for n in found[key].strip(" []").split(",")) if found.get(key) else None
            for key in ("joint_names", "observation_names")
        )
        numbers = {
            key: _numbers(found[key], key, path)
            for key in ("default_joint_pos", "action_scale", "joint_stiffness", "joint_damping")
            if key in found
        }
        return RobotMetadata(
            joint_names=names,
            **numbers,
            anchor_body_name=found.get("anchor_body_name"),
            observation_names=observed,
        )


@dataclass(frozen=True)
class ActionMap:
    """From a model's output to a task's action: `offset + scale * output`; the output itself where both are None."""

    scale: np.ndarray | None = None
    offset: np.ndarray | None = None

    @staticmethod
    def between(metadata: RobotMetadata, robot: Any, action: str, where: str) -> ActionMap:
        """For a robot description and the task's option `action`. Raises InputError where the model was made for
        another robot."""
        if metadata.action_scale is not None and metadata.action_scale.size == 1:
            metadata = replace(metadata, action_scale=np.full_like(robot.action_scale, metadata.action_scale[0]))
        _compare(metadata, robot, where)
        if (
            metadata.action_scale is not None
            and np.abs(metadata.action_scale - robot.action_scale).max() <= _LAST_DIGIT
        ):
            metadata = replace(metadata, action_scale=None)
        scale = robot.action_scale if metadata.action_scale is None else metadata.action_scale
        if action == "absolute":
            return ActionMap(scale, robot.default_pose)
        return (
            ActionMap()
            if metadata.action_scale is None
            else ActionMap(scale / robot.action_scale, np.zeros_like(scale))
        )

    def __call__(self, output: np.ndarray) -> np.ndarray:
        if self.scale is None:
            return output.astype(np.float32, copy=False)
        return (self.offset + self.scale * output).astype(np.float32)


def robot_of(briefing: Any) -> tuple[Any, str] | None:
    """The robot description of a task and how its actions are meant, by its briefing; None where it tells of none."""
    robot = getattr(getattr(briefing, "robot", None), "description", None)
    return None if robot is None else (robot, briefing.options.action)


def _numbers(text: str, key: str, path: Path) -> np.ndarray:
    try:
        values = np.array([float(part) for part in text.strip(" []").split(",")])
    except ValueError:
        values = np.array([np.nan])
    if not np.isfinite(values).all():
        raise InputError(
            f'{path}: its metadata {key} is "{text[:40]}"; expected numbers with commas (metadata: ignore overlooks it)'
        )
    return values


def _compare(metadata: RobotMetadata, robot: Any, where: str) -> None:
    names = metadata.joint_names
    if names is not None and names != tuple(robot.joint_names):
        raise InputError(f"{where}: {_other_joints(names, robot.joint_names)}")
    expected = {
        "default_joint_pos": robot.default_pose,
        "joint_stiffness": robot.stiffness,
        "joint_damping": robot.damping,
        "action_scale": robot.action_scale,
    }
    for key, own in expected.items():
        said = getattr(metadata, key)
        if said is None:
            continue
        if said.shape != own.shape:
            raise InputError(f"{where}: the model's {key} has {len(said)} numbers; the robot has {len(own)} joints")
        if key != "action_scale" and not np.allclose(said, own, rtol=_ROUNDED, atol=_ROUNDED):
            worst = int(np.argmax(np.abs(said - own)))
            raise InputError(
                f"{where}: the model was made for {key} {said[worst]:g} of {robot.joint_names[worst]}; the robot has "
                f"{own[worst]:g}. Set it in the task's robot_options, or metadata: ignore"
            )
    if metadata.anchor_body_name not in (None, robot.anchor_body):
        raise InputError(
            f"{where}: the model was made for the anchor {metadata.anchor_body_name}, the robot's is "
            f"{robot.anchor_body}; set anchor_body in the task's robot_options, or metadata: ignore"
        )


def _other_joints(said: tuple[str, ...], own: tuple[str, ...]) -> str:
    missing, more = [n for n in own if n not in said], [n for n in said if n not in own]
    if not missing and not more:
        first = next(i for i, (a, b) in enumerate(zip(said, own, strict=True)) if a != b)
        return (
            f"the model has the robot's joints in another order (joint {first} is {said[first]}, the robot's is "
            f"{own[first]}); export it in the robot's order"
        )
    parts = [f"lacks {', '.join(missing)}"] if missing else []
    return "the model's joints are of another robot: it " + " and ".join(
        [*parts, *([f"has {', '.join(more)}"] if more else [])]
    )


@dataclass(frozen=True)
class RobotFit:
    """`order`: None where observations stay as they are. `maps`: from outputs to actions by task; empty where outputs
    are actions."""

    order: Ordering | None = None
    maps: dict[str, ActionMap] = field(default_factory=dict)

    @staticmethod
    def of(metadata: RobotMetadata, spaces: SpaceInfo, options: OnnxOptions, where: str) -> RobotFit:
        """For tasks that tell of their robot. Raises InputError where the model was made for another robot, or observes
        what a task does not give."""
        maps = {}
        for task in spaces.observation if metadata.tells_robot else ():
            told = spaces.briefing[task]() if task in spaces.briefing else None
            robot = robot_of(told)
            maps[task] = (
                ActionMap() if robot is None else ActionMap.between(metadata, *robot, where=f'{where}: task "{task}"')
            )
        applied = {task for task, found in maps.items() if found.scale is not None}
        if applied and options.action_scale is not None:
            raise InputError(
                f"{where}: the model file says how its output is scaled; options.action_scale would scale it again: "
                "leave that out, or set metadata: ignore"
            )
        return RobotFit(_order(metadata, spaces, options, where), maps if applied else {})


def _order(metadata: RobotMetadata, spaces: SpaceInfo, options: OnnxOptions, where: str) -> Ordering | None:
    """By the file's observation names, where the model has one input and an observation has entries."""
    names = metadata.observation_names
    entries: dict[str, Any] = {task: getattr(space, "spaces", None) for task, space in spaces.observation.items()}
    if names is None or options.inputs or not all(isinstance(found, dict) for found in entries.values()) or not entries:
        return None
    for task, found in entries.items():
        missing = [name for name in names if name not in found]
        if missing:
            raise InputError(
                f'{where}: the model was made for the observations {", ".join(names)}; task "{task}" has no '
                f"{', '.join(missing)} (it has {', '.join(found)}). Name the task's entries in the model's order with "
                "options.observation_order, or set metadata: ignore"
            )
    return Ordering(names, spaces.observation)
