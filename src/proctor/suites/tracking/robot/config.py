"""What a user may say of a robot: a YAML file, or keys given to `load_robot`. Whatever is left out is read off the
model.

A value per joint is one number for all, a list in joint order, or a mapping of patterns: a pattern is a regular
expression for whole joint names, and the last one that matches a joint counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proctor.config.yaml_source import read_yaml
from proctor.errors import InputError
from proctor.registry import did_you_mean

ModelT = TypeVar("ModelT", bound=BaseModel)
PerJoint = float | list[float] | dict[str, float]


class AttachedBody(BaseModel):
    """A massless body fixed to a link, for a part that the model gives no body of its own, such as the head."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    parent: str
    """The link that carries it."""
    pos: tuple[float, float, float]
    """In the link's frame, metres."""


class DescriptionCfg(BaseModel):
    """A robot in words and numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str | None = None
    """Null: the model's name."""
    keyframe: str | None = None
    """The model's keyframe that holds the default pose. Null: the first one, or all joints at zero."""
    default_pose: PerJoint | None = None
    """rad; wins over the keyframe. Joints that no pattern matches stay as the keyframe has them."""
    default_height: float | None = None
    """Root height in the default pose, metres."""
    stiffness: PerJoint | None = None
    """Nm/rad. Null: of the model's position actuators, or 100 for motors without one; needed without actuators."""
    damping: PerJoint | None = None
    """Nm s/rad. Null: of the model's position actuators, or 5; needed as stiffness is."""
    effort_limit: PerJoint | None = None
    """Nm. Null: the force range of actuator or joint, or no limit."""
    armature: PerJoint | None = None
    """kg m^2. Null: the model's."""
    action_scale: PerJoint | None = None
    """rad of target per unit of action. Null: a quarter of effort limit / stiffness, or 0.25 without a limit."""
    root_body: str | None = None
    """Null: the body with the free joint, which is the only one possible."""
    anchor_body: str | None = None
    """The body whose orientation is compared. Null: `torso_link` where there is one, else the root."""
    tracked_bodies: list[str] | None = None
    """Bodies whose positions are compared. Null: all."""
    observed_bodies: list[str] | None = None
    """Bodies of the privileged observation. Null: all."""
    attached_bodies: list[AttachedBody] = Field(default_factory=list)

    def updated(self, keys: dict[str, Any], where: str) -> DescriptionCfg:
        """With these keys changed. `where` names their source in the error for a wrong one."""
        return validated(DescriptionCfg, {**self.model_dump(exclude_unset=True), **keys}, where)


def validated(model: type[ModelT], keys: Mapping[str, Any], where: str, noun: str = "key") -> ModelT:
    """The model of these keys. Raises InputError that begins with `where` and names each wrong key, called a `noun`."""

    def problem(error: Any) -> str:
        if error["type"] == "extra_forbidden" and len(error["loc"]) == 1:
            key = str(error["loc"][0])
            return f'unknown {noun} "{key}"' + did_you_mean(key, model.model_fields)
        return f"{'.'.join(map(str, error['loc']))}: {error['msg']}, found {error['input']!r}"

    try:
        return model.model_validate(dict(keys))
    except ValidationError as error:
        raise InputError(f"{where}: {'; '.join(problem(e) for e in error.errors())}") from None


def read_description(path: Path) -> dict[str, Any]:
    """The keys of a description file. Raises InputError where it is no YAML mapping."""
    found = read_yaml(path, "a robot description")
    if not isinstance(found, dict):
        raise InputError(
            f"{path} is no robot description: found {type(found).__name__}, expected a mapping with keys such as "
            "stiffness, damping and tracked_bodies"
        )
    return found


def per_joint(value: PerJoint | None, names: Sequence[str], fallback: np.ndarray, what: str) -> np.ndarray:
    """The value of each joint, (J,); the fallback where nothing is said. Raises InputError for a list of another
    length, a pattern that matches no joint, and what is not finite."""
    found = np.array(fallback, np.float64)
    if value is None:
        return found
    if isinstance(value, list) and len(value) != len(names):
        raise InputError(f"{what}: found {len(value)} values, expected {len(names)}, one for each joint")
    if isinstance(value, dict):
        for pattern, number in value.items():
            found[_matching(pattern, names, what)] = number
    else:
        found[:] = value
    if not np.isfinite(found[~np.isposinf(fallback)]).all():
        raise InputError(f"{what}: found {value!r}, expected finite numbers")
    return found


def _matching(pattern: str, names: Sequence[str], what: str) -> list[int]:
    try:
        hits = [i for i, name in enumerate(names) if re.fullmatch(pattern, name)]
    except re.error as error:
        raise InputError(f'{what}: "{pattern}" is no regular expression ({error})') from None
    if not hits:
        raise InputError(
            f'{what}: no joint matches "{pattern}"' + did_you_mean(pattern, names) + f" (joints: {', '.join(names)})"
        )
    return hits
