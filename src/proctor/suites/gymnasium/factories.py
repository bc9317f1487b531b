"""Environments that a function of the user's makes: `id: file.py:make_env`, or one that is in memory.

What `gymnasium.make` puts around an environment is taken off again: the step limit is the engine's, and checkers cost
time in every step. So `lambda: gymnasium.make("CartPole-v1")` gives the trials of `CartPole-v1`.
"""

from __future__ import annotations

import copy
import inspect
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gymnasium
from gymnasium import wrappers

from proctor.errors import InputError
from proctor.memory import PREFIX, borrowed
from proctor.registry import import_object

if TYPE_CHECKING:
    from proctor.suites.gymnasium.options import GymnasiumOptions

_AROUND = (wrappers.TimeLimit, wrappers.OrderEnforcing, wrappers.PassiveEnvChecker)
_MADE: weakref.WeakSet[Any] = weakref.WeakSet()
"""Everything that was made here and still exists: no environment may be given out twice."""


def find_factory(env_id: str) -> Callable[..., Any] | None:
    """The function or class behind an id that is registered nowhere; None where there is none."""
    module, _, name = env_id.rpartition(":")
    if module == PREFIX:
        return borrowed(name, f"the environment {name.partition('@')[0]}")
    if not module or not name.isidentifier():
        return None
    try:
        found = import_object(env_id)
    except InputError:
        return None
    return found if callable(found) else None


class Maker:
    """Makes environments by a function; `max_steps` is the limit that the last one came with."""

    def __init__(self, factory: Callable[..., Any], options: GymnasiumOptions, *, render: bool):
        self._factory, self._options, self._render = factory, options, render
        self._name = options.id.partition("@")[0]
        self.max_steps: int | None = None

    def __call__(self) -> gymnasium.Env[Any, Any]:
        env = self._factory(**self._arguments())
        if not isinstance(env, gymnasium.Env):
            raise InputError(f'"{self._name}" gave a {type(env).__name__}; expected a gymnasium.Env')
        if env.unwrapped in _MADE:
            raise InputError(
                f'"{self._name}" gave the same environment twice; expected a new one each time: trials run at once'
            )
        _MADE.add(env.unwrapped)
        self.max_steps = _limit(env)
        while isinstance(env, _AROUND):
            env = env.env
        if self._render and env.render_mode != "rgb_array":
            raise InputError(
                f'"{self._name}" gives no frames: video needs the render mode rgb_array, and it has {env.render_mode}. '
                "Let the function take render_mode and hand it on, or use record: series"
            )
        return env

    def _arguments(self) -> dict[str, Any]:
        given = copy.deepcopy(self._options.kwargs)
        if self._render and _takes(self._factory, "render_mode"):
            given["render_mode"] = "rgb_array"
        return given


def _takes(factory: Callable[..., Any], name: str) -> bool:
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.name == name or p.kind is p.VAR_KEYWORD for p in parameters)


def _limit(env: Any) -> int | None:
    """The step limit of an environment as `gymnasium.make` gives it, or that it was registered with."""
    if isinstance(env, wrappers.TimeLimit):
        return env._max_episode_steps
    return None if env.spec is None else env.spec.max_episode_steps
