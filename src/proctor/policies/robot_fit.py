"""What follows from a model file's robot metadata for the tasks of an agent: in which order it sees the entries of a
dict observation, and what becomes of its output."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from proctor.errors import InputError
from proctor.policies.ordering import Ordering
from proctor.policies.protocol import SpaceInfo
from proctor.policies.robot_metadata import ActionMap, RobotMetadata, robot_of

if TYPE_CHECKING:
    from proctor.policies.from_onnx import OnnxOptions


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
