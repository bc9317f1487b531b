"""What is read after each step from `info` or from the environment: signals, and what success is.

A path is `info.KEY` or `env.ATTRIBUTE`, followed by any of `.NAME` (a key of a mapping, else an attribute)
and `[INDEX]` (an integer, or a slice such as `[:3]`). `env` is the unwrapped environment.

Numbers come out as float, arrays as copies of the same dtype. A missing `info` key, or None, is NaN, in the
shape last seen in the trial.

A check of success is called after each step with what a user's function gets: the Gymnasium environment, then what its
step returned. It belongs to one trial of one world: a check may add up rewards.
"""

from __future__ import annotations

import abc
import math
import numbers
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from proctor.errors import InputError
from proctor.registry import did_you_mean, import_object
from proctor_host.values import flag

if TYPE_CHECKING:
    from proctor.suites.gymnasium.options import SuccessCfg


_STEP = re.compile(r"\.(?P<name>[^.\[\]]+)|\[(?P<index>-?\d+)\]|\[(?P<slice>-?\d*:-?\d*(?::-?\d*)?)\]")
_MISSING = object()

Part = str | int | slice


@dataclass(frozen=True)
class SignalPath:
    """A parsed path: where it starts and what is taken from there."""

    text: str
    root: Literal["info", "env"]
    parts: tuple[Part, ...]


def parse_path(text: str) -> SignalPath:
    """Raises ValueError for what is no path."""
    root: Literal["info", "env"] = "info" if text.startswith("info") else "env"
    rest = text.removeprefix(root)
    parts: list[Part] = []
    while rest:
        match = _STEP.match(rest)
        if match is None:
            break
        parts.append(_part(match))
        rest = rest[match.end() :]
    if rest or not parts or not isinstance(parts[0], str):
        raise ValueError(f'found the signal path "{text}"; expected info.KEY or env.ATTRIBUTE, then .NAME or [INDEX]')
    return SignalPath(text, root, tuple(parts))


def _part(match: re.Match[str]) -> Part:
    if match["name"] is not None:
        return match["name"]
    if match["index"] is not None:
        return int(match["index"])
    return slice(*(int(bound) if bound else None for bound in match["slice"].split(":")))


class SignalReader:
    """Reads every signal of one world. `read(env, info)` after each step; `reset(info)` before a trial."""

    def __init__(self, signals: Mapping[str, str]):
        self._getters = [(name, *_getter(name, parse_path(text))) for name, text in signals.items()]
        self._shapes: dict[str, tuple[int, ...]] = {}

    def reset(self, info: Mapping[str, Any]) -> None:
        """Forget the last trial. The shapes of signals that are in the reset's `info` are taken from there."""
        self._shapes.clear()
        for name, root, get in self._getters:
            if root == "info":
                self._copy(name, get(info))

    def read(self, env: Any, info: Mapping[str, Any]) -> dict[str, Any]:
        """The signals now, by name; nothing in them changes later."""
        return {name: self._copy(name, get(info if root == "info" else env)) for name, root, get in self._getters}

    def _copy(self, name: str, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            if value.ndim == 0:
                return float(value)
            self._shapes[name] = value.shape
            return value.copy()
        if isinstance(value, (numbers.Real, np.bool_)):
            return float(value)
        if value is _MISSING or value is None:
            shape = self._shapes.get(name)
            return math.nan if shape is None else np.full(shape, np.nan)
        return self._copy(name, _as_array(name, value))


def _as_array(name: str, value: Any) -> np.ndarray:
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind not in "biufc":
        raise InputError(f'signal "{name}": found {type(value).__name__}; expected a number or an array of numbers')
    return array


def _getter(name: str, path: SignalPath) -> tuple[str, Callable[[Any], Any]]:
    if path.root == "info" and len(path.parts) == 1:
        key = path.parts[0]
        return "info", lambda info: info.get(key, _MISSING)
    take = _take_info if path.root == "info" else _take_env

    def get(value: Any) -> Any:
        for part in path.parts:
            value = take(name, path, value, part)
            if value is _MISSING:
                break
        return value

    return path.root, get


def _take_info(name: str, path: SignalPath, value: Any, part: Part) -> Any:
    if isinstance(part, str):
        return value.get(part, _MISSING) if isinstance(value, Mapping) else _MISSING
    return _index(name, path, value, part)


def _take_env(name: str, path: SignalPath, value: Any, part: Part) -> Any:
    if not isinstance(part, str):
        return _index(name, path, value, part)
    if isinstance(value, Mapping):
        return value.get(part, _MISSING)
    try:
        return getattr(value, part)
    except AttributeError:
        hint = did_you_mean(part, dir(value))
        raise InputError(
            f'signal "{name}" ({path.text}): {type(value).__name__} has no attribute "{part}"{hint}'
        ) from None


def _index(name: str, path: SignalPath, value: Any, part: int | slice) -> Any:
    try:
        return value[part]
    except (IndexError, TypeError, KeyError) as error:
        raise InputError(f'signal "{name}" ({path.text}): {error}') from None


SuccessCheck = Callable[[Any, Any, float, bool, bool, Mapping[str, Any]], bool]
"""(env, observation, reward, terminated, truncated, info) -> whether success holds after this step."""


def success_check(cfg: SuccessCfg | None) -> SuccessCheck:
    """A new check for one trial; None: whatever `info` has to say. Raises InputError where a function of the user's is
    none."""
    if cfg is None:
        return Reported()
    if cfg.info is not None:
        return Entry(cfg.info.split("."))
    if cfg.return_at_least is not None:
        return return_at_least(cfg.return_at_least)
    if cfg.terminated is not None:
        return partial(ended, cfg.terminated)
    assert cfg.function is not None
    function = import_object(cfg.function)
    if not callable(function):
        raise InputError(f'success: "{cfg.function}" is a {type(function).__name__}; expected a function')
    return lambda *step: flag("success (by its function)", function(*step))


class Told(abc.ABC):
    """A check that goes by what `info` says. `said`: it said something in this trial."""

    def __init__(self) -> None:
        self.said = False

    @abc.abstractmethod
    def __call__(self, env, observation, reward, terminated, truncated, info) -> bool: ...


class Reported(Told):
    """`info["success"]`, else `info["is_success"]`, else no success."""

    def __call__(self, env, observation, reward, terminated, truncated, info) -> bool:
        key, value = "success", info.get("success")
        if value is None:
            key, value = "is_success", info.get("is_success")
            if value is None:
                return False
        self.said = True
        return value if type(value) is bool else flag(f'info["{key}"]', value)


class Entry(Told):
    """An entry of `info`; the path leads into nested mappings. A step without it is no success."""

    def __init__(self, path: list[str]):
        super().__init__()
        self._path = path

    def __call__(self, env, observation, reward, terminated, truncated, info) -> bool:
        value: Any = info
        for part in self._path:
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is None:
            return False
        self.said = True
        return flag(f'info["{".".join(self._path)}"]', value)


def is_known(check: SuccessCheck) -> bool:
    """Whether a check has something to go by: a rule of the config, or what the environment said in the trial."""
    return not isinstance(check, Told) or check.said


def ended(wanted: bool, env, observation, reward, terminated, truncated, info) -> bool:
    """The environment has ended the episode by itself, or has not."""
    return terminated is wanted


def return_at_least(threshold: float) -> SuccessCheck:
    """The sum of rewards so far has reached a threshold."""
    total = 0.0

    def reached(env, observation, reward, terminated, truncated, info) -> bool:
        nonlocal total
        total += reward
        return total >= threshold

    return reached
