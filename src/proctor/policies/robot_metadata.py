"""What a model file says of the robot it was made for, and what follows for its actions and for the
order in which it sees the entries of a dict observation.

The exporters of mjlab, Isaac Lab and those around rsl_rl store `joint_names, joint_stiffness, joint_damping,
default_joint_pos, action_scale, observation_names, anchor_body_name` as text with commas. A policy on another robot
gives numbers, but no meaning: names, order, default pose and gains are compared with the task's robot. An action scale
of its own is honoured; one number is meant for all joints.

A task tells of its robot in its briefing: an object of the suite tracking, or a mapping with `robot` (a `ToldRobot`'s
fields) and, where the observation is one array, `terms` (`proctor.policies.robot_terms`). With such terms the order of
joints may be another one: observations and actions are rearranged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from proctor.errors import InputError
from proctor.policies.preprocess import Ordering
from proctor.policies.protocol import SpaceInfo, by_task
from proctor.policies.robot_terms import Moved, Rearranged, Term, joint_order, terms_in_file, terms_told
from proctor_host.trials import Trial

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
    terms: tuple[Term, ...] | None = None
    """What the observation names say more: scales, histories, clips."""

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
            terms=None if observed is None else terms_in_file(found, observed),
        )

    def in_order_of(self, robot: ToldRobot) -> tuple[RobotMetadata, np.ndarray | None]:
        """The same with joints in the robot's order, where they are the same joints in another one; and where each of
        the robot's actions is among the model's, None where they are in one order."""
        names = self.joint_names
        if names is None or names == robot.joint_names or set(names) != set(robot.joint_names):
            return self, None
        whole = joint_order(robot.joint_names, names)
        acted = joint_order(robot.acted, [name for name in names if name in set(robot.acted)])
        moved: dict[str, Any] = {"joint_names": robot.joint_names}
        for key in ("default_joint_pos", "action_scale", "joint_stiffness", "joint_damping"):
            values = getattr(self, key)
            order = whole if key == "default_joint_pos" else acted
            moved[key] = values if values is None or len(values) != len(order) else values[order]
        return replace(self, **moved), None if (acted == np.arange(len(acted))).all() else acted


@dataclass(frozen=True, eq=False)
class ToldRobot:
    """A robot as a task's environment tells of it. `acted`: the joints that have actions, in the order of the actions;
    gains and action scales are theirs. An action is what a model of this task gives: the task scales it."""

    joint_names: tuple[str, ...]
    acted: tuple[str, ...]
    default_pose: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray
    action_scale: np.ndarray
    anchor_body: str | None = None


@dataclass(frozen=True)
class ActionMap:
    """From a model's output to a task's action: the output in this order, then `offset + scale * output`; left out is
    what is None."""

    scale: np.ndarray | None = None
    offset: np.ndarray | None = None
    order: np.ndarray | None = None

    @staticmethod
    def between(metadata: RobotMetadata, robot: Any, action: str, where: str) -> ActionMap:
        """For a robot description and the task's option `action`. Raises InputError where the model was made for
        another robot."""
        order = None
        if isinstance(robot, ToldRobot):
            metadata, order = metadata.in_order_of(robot)
        found = ActionMap._scaled(metadata, robot, action, where)
        return found if order is None else replace(found, order=order)

    @staticmethod
    def _scaled(metadata: RobotMetadata, robot: Any, action: str, where: str) -> ActionMap:
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
        if self.order is not None:
            output = output[..., self.order]
        if self.scale is None:
            return output.astype(np.float32, copy=False)
        return (self.offset + self.scale * output).astype(np.float32)


def robot_of(briefing: Any) -> tuple[Any, str] | None:
    """The robot description of a task and how its actions are meant, by its briefing; None where it tells of none."""
    if isinstance(briefing, Mapping):
        told = briefing.get("robot")
        return None if told is None else (ToldRobot(**told), "offset")
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
    names, mend = metadata.joint_names, "Set it in the task's robot_options, or metadata: ignore"
    if isinstance(robot, ToldRobot):
        mend = "Was it trained on another robot, or another version of it? metadata: ignore overlooks it"
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
                f"{own[worst]:g}. {mend}"
            )
    if metadata.anchor_body_name not in (None, robot.anchor_body):
        raise InputError(
            f"{where}: the model was made for the anchor {metadata.anchor_body_name}, the robot's is "
            f"{robot.anchor_body}. {mend}"
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
    """`order`: entries of a dict put into one array; None where there are none. `shown`: how the one array of a task is
    rearranged; empty where none is. `maps`: from outputs to actions by task; empty where outputs are actions."""

    order: Ordering | None = None
    maps: dict[str, ActionMap] = field(default_factory=dict)
    shown: dict[str, Rearranged] = field(default_factory=dict)

    @staticmethod
    def of(metadata: RobotMetadata, spaces: SpaceInfo, options: OnnxOptions, where: str) -> RobotFit:
        """For tasks that tell of their robot. Raises InputError where the model was made for another robot, or observes
        what a task does not give."""
        maps, shown = {}, {}
        for task in spaces.observation if metadata.tells_robot or metadata.terms else ():
            told = spaces.briefing[task]() if task in spaces.briefing else None
            robot, place = robot_of(told) if metadata.tells_robot else None, f'{where}: task "{task}"'
            maps[task] = ActionMap() if robot is None else ActionMap.between(metadata, *robot, where=place)
            if metadata.terms and isinstance(told, Mapping) and told.get("terms"):
                moved = Moved(metadata.joint_names, maps[task].scale)
                rearranged = Rearranged.of(metadata.terms, terms_told(told["terms"]), moved, place)
                if rearranged is not None:
                    shown[task] = rearranged
        applied = {task for task, found in maps.items() if found.scale is not None or found.order is not None}
        if options.action_scale is not None and any(maps[task].scale is not None for task in applied):
            raise InputError(
                f"{where}: the model file says how its output is scaled; options.action_scale would scale it again: "
                "leave that out, or set metadata: ignore"
            )
        return RobotFit(_order(metadata, spaces, options, where), maps if applied else {}, shown)

    def space(self, task: str, space: Any) -> Any:
        """What a model is shown of this task's space."""
        if self.order is not None:
            return self.order.space(task)
        return self.shown[task].space() if task in self.shown else space

    def observed(self, observation: Any, trials: Sequence[Trial]) -> Any:
        """What a model is shown of these rows."""
        if self.order is not None:
            return self.order(observation)
        if not self.shown:
            return observation
        whole = np.asarray(observation)

        def moved(task: str, rows: Any) -> np.ndarray:
            return self.shown[task](whole[rows]) if task in self.shown else whole[rows]

        return by_task(trials, moved)


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
