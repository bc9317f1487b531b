"""What success is at a step.

A check is called after each step with what a user's function gets: the Gymnasium environment, then what its step
returned. It belongs to one trial of one world: a check may add up rewards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from proctor.errors import InputError
from proctor.registry import import_object
from proctor_host.values import flag

if TYPE_CHECKING:
    from proctor.suites.gymnasium.options import SuccessCfg

SuccessCheck = Callable[[Any, Any, float, bool, bool, Mapping[str, Any]], bool]
"""(env, observation, reward, terminated, truncated, info) -> whether success holds after this step."""


def success_check(cfg: SuccessCfg | None) -> SuccessCheck:
    """A new check for one trial; None: whatever `info` has to say. Raises InputError where a function of the user's is
    none."""
    if cfg is None:
        return Reported()
    if cfg.info is not None:
        return partial(entry, cfg.info.split("."))
    if cfg.return_at_least is not None:
        return return_at_least(cfg.return_at_least)
    if cfg.terminated is not None:
        return partial(ended, cfg.terminated)
    assert cfg.function is not None
    function = import_object(cfg.function)
    if not callable(function):
        raise InputError(f'success: "{cfg.function}" is a {type(function).__name__}; expected a function')
    return lambda *step: flag("success (by its function)", function(*step))


class Reported:
    """`info["success"]`, else `info["is_success"]`, else no success. `said`: one of them was there in this trial."""

    def __init__(self) -> None:
        self.said = False

    def __call__(self, env, observation, reward, terminated, truncated, info) -> bool:
        key, value = "success", info.get("success")
        if value is None:
            key, value = "is_success", info.get("is_success")
            if value is None:
                return False
        self.said = True
        return value if type(value) is bool else flag(f'info["{key}"]', value)


def is_known(check: SuccessCheck) -> bool:
    """Whether a check has something to go by: a rule of the config, or what the environment said in the trial."""
    return not isinstance(check, Reported) or check.said


def entry(path: list[str], env, observation, reward, terminated, truncated, info) -> bool:
    """An entry of `info`; the path leads into nested mappings."""
    value: Any = info
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value is not None and flag(f'info["{".".join(path)}"]', value)


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
