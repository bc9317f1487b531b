"""Names of reward tasks, such as `move-ego-90-0.7`, and what they ask for.

Numbers are decimal, with a sign where they may be negative (`move-ego--90-0.7`). A task prints as its name:
`str(parse_task(name))` is the name with its numbers in their shortest form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from proctor.errors import InputError
from proctor.registry import nearest

Level = Literal["l", "m", "h", "x"]
"""Where a hand is: low, medium (shoulder height), high, or anywhere."""

Axis = Literal["x", "y", "z"]
"""Of the root: forward, left, up."""


@dataclass(frozen=True)
class Task:
    """What a name asks for. The fields are in the order of the name."""

    form: ClassVar[str]
    example: ClassVar[str]

    def __init_subclass__(cls, form: str, example: str) -> None:
        cls.form, cls.example = form, example

    def __str__(self) -> str:
        return self.form.format(**{name: _short(value) for name, value in vars(self).items()})


@dataclass(frozen=True)
class MoveEgo(Task, form="move-ego-{angle}-{speed}", example="move-ego-90-0.7"):
    """Walk in a direction relative to where the robot faces; speed 0 is standing still."""

    angle: float
    """Degrees; 0 is forward, 90 left."""
    speed: float
    """m/s."""


@dataclass(frozen=True)
class MoveEgoLow(Task, form="move-ego-low{height}-{angle}-{speed}", example="move-ego-low0.6-0-0.5"):
    """The same with the root at a height."""

    height: float
    angle: float
    speed: float


@dataclass(frozen=True)
class Jump(Task, form="jump-{height}", example="jump-1"):
    """The root at a height or above."""

    height: float
    """m."""


@dataclass(frozen=True)
class Rotate(Task, form="rotate-{axis}-{rate}-{height}", example="rotate-z-2-0.6"):
    """Turn about an axis of the root, with the root at a height or above."""

    axis: Axis
    rate: float
    """rad/s."""
    height: float


@dataclass(frozen=True)
class RaiseArms(Task, form="raisearms-{left}-{right}", example="raisearms-l-h"):
    """Stand still with the hands at levels."""

    left: Level
    right: Level


@dataclass(frozen=True)
class Crouch(Task, form="crouch-{height}", example="crouch-0.4"):
    """The root at a height or below, on the feet."""

    height: float


@dataclass(frozen=True)
class SitOnGround(Task, form="sitonground", example="sitonground"):
    """Sit on the floor with an upright torso."""


@dataclass(frozen=True)
class MoveArms(Task, form="move-arms-{angle}-{speed}-{left}-{right}", example="move-arms-0-0.5-m-h"):
    """Walk with the hands at levels."""

    angle: float
    speed: float
    left: Level
    right: Level


@dataclass(frozen=True)
class SpinArms(Task, form="spin-arms-{rate}-{left}-{right}", example="spin-arms-2-h-h"):
    """Turn on the spot with the hands at levels."""

    rate: float
    left: Level
    right: Level


FAMILIES: tuple[type[Task], ...] = (
    MoveEgo, MoveEgoLow, Jump, Rotate, RaiseArms, Crouch, SitOnGround, MoveArms, SpinArms
)  # fmt: skip

DEFAULT_TASKS: tuple[str, ...] = (
    "move-ego-0-0", "move-ego-0-0.3", "move-ego-0-0.7", "move-ego-90-0.3", "move-ego--90-0.3", "move-ego-180-0.3",
    "move-ego-low0.5-0-0", "move-ego-low0.6-0-0.5", "jump-1", "rotate-x-3-0.5", "rotate-y-3-0.5", "rotate-z-2-0.6",
    "rotate-z--2-0.6", "raisearms-l-l", "raisearms-l-m", "raisearms-m-l", "raisearms-m-m", "raisearms-l-h",
    "raisearms-h-l", "raisearms-h-h", "crouch-0.4", "sitonground", "move-arms-0-0.5-m-m", "move-arms-90-0.3-l-h",
    "spin-arms-2-m-m", "spin-arms--2-l-h",
)  # fmt: skip
"""What is evaluated where no tasks are named: every family, for a robot of about 1.3 m."""

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)"
_WORD = r"[^-]*"
_LARGEST = {"speed": 10.0, "rate": 50.0, "height": 10.0, "angle": 360.0}
_LOWEST = {"speed": 0.0, "height": 0.0, "rate": -50.0, "angle": -360.0}
_UNITS = {"speed": "m/s", "rate": "rad/s", "height": "m", "angle": "degrees"}
_CHOICES: dict[str, tuple[str, ...]] = {"left": get_args(Level), "right": get_args(Level), "axis": get_args(Axis)}


def parse_task(name: str) -> Task:
    """What a name asks for. InputError with the nearest form where it is none."""
    for family in FAMILIES:
        found = _pattern(family, _NUMBER).fullmatch(name)
        if found is not None:
            return family(**{field: _value(name, family, field, text) for field, text in found.groupdict().items()})
    raise InputError(f'"{name}" is no reward task; {_advice(name)}')


def _pattern(family: type[Task], number: str) -> re.Pattern[str]:
    def group(field: re.Match[str]) -> str:
        return f"(?P<{field[1]}>{_WORD if field[1] in _CHOICES else number})"

    return re.compile(re.sub(r"\{(\w+)\}", group, family.form))


def _value(name: str, family: type[Task], field: str, text: str) -> Any:
    if field in _CHOICES:
        if text in _CHOICES[field]:
            return text
        raise _refused(name, family, f'{field} is "{text}", and one of {", ".join(_CHOICES[field])} was expected')
    value = float(text)
    if not _LOWEST[field] <= value <= _LARGEST[field]:
        limits = f"{_LOWEST[field]:g} to {_LARGEST[field]:g} {_UNITS[field]}"
        raise _refused(name, family, f"{field} is {value:g}, and {limits} was expected")
    return value + 0.0


def _refused(name: str, family: type[Task], why: str) -> InputError:
    return InputError(f'"{name}" is no reward task: {why}; the form is {family.form}, for example {family.example}')


def _advice(name: str) -> str:
    """The nearest form: one whose fields alone are wrong, else the one with the most similar words."""
    loosely = [f for f in FAMILIES if _pattern(f, _WORD).fullmatch(name)]
    close = loosely or [f for f in FAMILIES if name.startswith(_stem(f))][-1:] or _similar(name)
    if not close:
        return f"the forms are {', '.join(f.form for f in FAMILIES)}"
    family = close[-1]
    return f"the nearest form is {family.form}" + _legend(family)


def _similar(name: str) -> list[type[Task]]:
    stems = {_stem(f): f for f in reversed(FAMILIES)}
    words = re.match(r"[A-Za-z]+(?:[-_ ]?[A-Za-z]{2,})*", name)
    hint = nearest(words[0].lower().replace("_", "-") if words else name, list(stems))
    return [stems[hint]] if hint else []


def _stem(family: type[Task]) -> str:
    return family.form.partition("{")[0].rstrip("-")


def _legend(family: type[Task]) -> str:
    fields = re.findall(r"\{(\w+)\}", family.form)
    if not fields:
        return ""
    told = [f"{f} {'|'.join(_CHOICES[f])}" if f in _CHOICES else f"{f} a number in {_UNITS[f]}" for f in fields]
    return f", for example {family.example} ({', '.join(told)})"


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
