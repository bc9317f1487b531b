"""What success is at a step. One check per world; `reset` before a trial, then a call after each step.

The call's arguments are those of a user's function: the Gymnasium environment, then what its step returned.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any

from proctor.errors import InputError
from proctor.registry import import_object
from proctor.suites.gymnasium.options import SuccessCfg


class SuccessCheck(abc.ABC):
    """Tells after each step whether success holds now."""

    needs_env: bool = False
    """Whether the environment object must be given; else None will do."""

    def reset(self) -> None:  # noqa: B027 - most checks have no memory
        """Forget the last trial."""

    @abc.abstractmethod
    def __call__(
        self, env: Any, observation: Any, reward: float, terminated: bool, truncated: bool, info: Mapping[str, Any]
    ) -> bool:
        """Whether success holds after this step."""


def success_check(cfg: SuccessCfg | None) -> SuccessCheck:
    """A new check for one world; None: whatever `info` has to say."""
    if cfg is None:
        return InfoAuto()
    if cfg.info is not None:
        return InfoKey(cfg.info)
    if cfg.return_at_least is not None:
        return ReturnAtLeast(cfg.return_at_least)
    if cfg.terminated is not None:
        return Terminated(cfg.terminated)
    assert cfg.function is not None
    return UserFunction(cfg.function)


class InfoAuto(SuccessCheck):
    """`info["success"]`, else `info["is_success"]`, else no success."""

    def __call__(self, env, observation, reward, terminated, truncated, info) -> bool:
        value = info.get("success")
        if value is None:
            value = info.get("is_success")
        return value is not None and bool(value)


class InfoKey(SuccessCheck):
    """A key of `info`; dots lead into nested mappings."""

    def __init__(self, key: str):
        self._parts = key.split(".")

    def __call__(self, env, observation, reward, terminated, truncated, info) -> bool:
        value: Any = info
        for part in self._parts:
            value = value.get(part) if isinstance(value, Mapping) else None
        return value is not None and bool(value)


class ReturnAtLeast(SuccessCheck):
    """The sum of rewards so far has reached a threshold."""

    def __init__(self, threshold: float):
        self._threshold, self._return = threshold, 0.0

    def reset(self) -> None:
        self._return = 0.0

    def __call__(self, env, observation, reward, terminated, truncated, info) -> bool:
        self._return += reward
        return self._return >= self._threshold


class Terminated(SuccessCheck):
    """The environment has ended the episode by itself, or has not."""

    def __init__(self, wanted: bool):
        self._wanted = wanted

    def __call__(self, env, observation, reward, terminated, truncated, info) -> bool:
        return terminated is self._wanted


class UserFunction(SuccessCheck):
    """A function of the user's."""

    needs_env = True

    def __init__(self, target: str):
        found: Callable[..., Any] = import_object(target)
        if not callable(found):
            raise InputError(f'success: "{target}" is a {type(found).__name__}; expected a function')
        self._function = found

    def __call__(self, env, observation, reward, terminated, truncated, info) -> bool:
        return bool(self._function(env, observation, reward, terminated, truncated, info))
