"""Names of reward tasks, such as `move-ego-90-0.7`, and what they ask for.

- `move-ego`: walk in a direction relative to where the robot faces (0 is forward, 90 left); speed 0 is standing still.
- `move-ego-low`: the same with the root at a height.
- `jump`: the root at a height or above.
- `rotate`: turn about an axis of the root (x forward, y left, z up), with the root at a height or above.
- `raisearms`: stand still with the hands at levels: low, medium (shoulder height), high, or anywhere (x).
- `crouch`: the root at a height or below, on the feet.
- `sitonground`: sit on the floor with an upright torso.
- `move-arms`: walk with the hands at levels.
- `spin-arms`: turn on the spot with the hands at levels.

Numbers are decimal, with a sign where they may be negative (`move-ego--90-0.7`). A task prints as its name:
`str(parse_task(name))` is the name with its numbers in their shortest form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from proctor.errors import InputError
from proctor.registry import nearest

FAMILIES = {
    "move-ego-{angle}-{speed}": "move-ego-90-0.7",
    "move-ego-low{height}-{angle}-{speed}": "move-ego-low0.6-0-0.5",
    "jump-{height}": "jump-1",
    "rotate-{axis}-{rate}-{height}": "rotate-z-2-0.6",
    "raisearms-{left}-{right}": "raisearms-l-h",
    "crouch-{height}": "crouch-0.4",
    "sitonground": "sitonground",
    "move-arms-{angle}-{speed}-{left}-{right}": "move-arms-0-0.5-m-h",
    "spin-arms-{rate}-{left}-{right}": "spin-arms-2-h-h",
}
"""The forms of the names, with their fields in braces, and an example of each."""

LEGACY_FAMILIES = {
    "move-ego-low-{angle}-{speed}-{left}-{right}": "move-ego-low-0-0.5-m-l",
    "totheknee": "totheknee",
}
"""Forms that only `legacy: bfm_zero` has a reward for: to walk low with the hands at levels; to reach for the knees."""


@dataclass(frozen=True)
class Task:
    """What a name asks for: the form of the name, and the value of each of its fields in their order."""

    form: str
    values: tuple[Any, ...] = ()

    @property
    def family(self) -> str:
        """Such as `move-ego`."""
        return _stem(self.form)

    def __str__(self) -> str:
        return self.form.format(**dict(zip(_fields(self.form), map(_short, self.values), strict=True)))


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
_CHOICES = {"left": "lmhx", "right": "lmhx", "axis": "xyz"}


def parse_task(name: str) -> Task:
    """What a name asks for. InputError with the nearest form where it is none."""
    for form in (*FAMILIES, *LEGACY_FAMILIES):
        found = _pattern(form, _NUMBER).fullmatch(name)
        if found is not None:
            return Task(form, tuple(_value(name, form, *given) for given in found.groupdict().items()))
    raise InputError(f'"{name}" is no reward task; {_advice(name)}')


def _pattern(form: str, number: str) -> re.Pattern[str]:
    def group(field: re.Match[str]) -> str:
        return f"(?P<{field[1]}>{_WORD if field[1] in _CHOICES else number})"

    return re.compile(re.sub(r"\{(\w+)\}", group, form))


def _fields(form: str) -> list[str]:
    return re.findall(r"\{(\w+)\}", form)


def _value(name: str, form: str, field: str, text: str) -> Any:
    if field in _CHOICES:
        if text in list(_CHOICES[field]):
            return text
        raise _refused(name, form, f'{field} is "{text}", and one of {", ".join(_CHOICES[field])} was expected')
    value = float(text)
    if not _LOWEST[field] <= value <= _LARGEST[field]:
        limits = f"{_LOWEST[field]:g} to {_LARGEST[field]:g} {_UNITS[field]}"
        raise _refused(name, form, f"{field} is {value:g}, and {limits} was expected")
    return value + 0.0


def _refused(name: str, form: str, why: str) -> InputError:
    return InputError(f'"{name}" is no reward task: {why}; the form is {form}, for example {_example(form)}')


def _example(form: str) -> str:
    return FAMILIES.get(form) or LEGACY_FAMILIES[form]


def _advice(name: str) -> str:
    """The nearest form: one whose fields alone are wrong, else the one with the most similar words."""
    loosely = [form for form in FAMILIES if _pattern(form, _WORD).fullmatch(name)]
    close = loosely or [form for form in FAMILIES if name.startswith(_stem(form))][-1:] or _similar(name)
    if not close:
        return f"the forms are {', '.join(FAMILIES)}"
    return f"the nearest form is {close[-1]}" + _legend(close[-1])


def _similar(name: str) -> list[str]:
    stems = {_stem(form): form for form in reversed(FAMILIES)}
    words = re.match(r"[A-Za-z]+(?:[-_ ]?[A-Za-z]{2,})*", name)
    hint = nearest(words[0].lower().replace("_", "-") if words else name, list(stems))
    return [stems[hint]] if hint else []


def _stem(form: str) -> str:
    return form.partition("{")[0].rstrip("-")


def _legend(form: str) -> str:
    fields = _fields(form)
    if not fields:
        return ""
    told = [f"{f} {'|'.join(_CHOICES[f])}" if f in _CHOICES else f"{f} a number in {_UNITS[f]}" for f in fields]
    return f", for example {FAMILIES[form]} ({', '.join(told)})"


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
