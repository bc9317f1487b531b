"""Making Gymnasium environments: ids found, wrappers put on, every obstacle said in a sentence.

The registered time limit is never applied: the step limit is the engine's. Nor are Gymnasium's checkers, which would
cost time in every step. Of an environment that a function of the user's makes (`id: file.py:make_env`, or one that is
in memory) they are taken off again. So `lambda: gymnasium.make("CartPole-v1")` gives the trials of `CartPole-v1`.
"""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gymnasium
from gymnasium import wrappers
from gymnasium.envs import registration

from proctor.errors import InputError
from proctor.memory import PREFIX, borrowed
from proctor.registry import did_you_mean, import_file, import_object
from proctor.suites.autoreset import HAS_MODES, AutoresetMode
from proctor.suites.gymnasium.env import GymnasiumEnv

if TYPE_CHECKING:
    from proctor.suites.gymnasium.options import GymnasiumOptions, WrapperCfg
    from proctor_host.environments import BatchEnv, Env


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


NO_LIMIT = 2**31 - 1


def find_spec(options: GymnasiumOptions) -> registration.EnvSpec:
    """The registered spec of the id, after the imports were made. Raises InputError with the nearest id."""
    env_id = _imported(options)
    spec = registration.registry.get(env_id)
    if spec is None:
        hint = did_you_mean(env_id, registration.registry)
        raise InputError(
            f'no Gymnasium environment "{env_id}" is registered{hint} '
            "(an id of a package or file of your own is written `package:id` or `file.py:id`)"
        )
    return spec


def factory_of(options: GymnasiumOptions) -> Callable[..., Any] | None:
    """The function or class that makes the environment, where the id names one and is not registered."""
    if options.id.startswith(f"{PREFIX}:"):
        return find_factory(options.id)
    return None if _imported(options) in registration.registry else find_factory(options.id)


def _imported(options: GymnasiumOptions) -> str:
    """The id without its module, after the imports were made."""
    for module in options.imports:
        _import(module)
    module, _, env_id = options.id.rpartition(":")
    if module:
        _import(module)
    return env_id


def _import(module: str) -> None:
    if module.endswith(".py"):
        import_file(module)
        return
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = error.name or module
        top = package.partition(".")[0]
        raise InputError(
            f'the module "{module}" cannot be imported: there is no "{package}"; '
            f"install it (pip install {top}), or name a file: imports: [{top}.py]"
        ) from None


def make_single(options: GymnasiumOptions, *, render: bool) -> gymnasium.Env[Any, Any]:
    """One environment with its wrappers. Raises InputError where a package is missing or it cannot render."""
    spec = copy.deepcopy(find_spec(options))
    spec.order_enforce = False
    with_errors = functools.partial(_saying_what_is_missing, options.id)
    if render:
        with_errors(lambda: _require_rendering(spec))
    env = with_errors(
        lambda: gymnasium.make(
            spec, max_episode_steps=-1, disable_env_checker=True, **env_kwargs(options, render=render)
        )
    )
    for wrapper in options.wrappers:
        env = apply_wrapper(wrapper, env)
    return env


def make_vector(options: GymnasiumOptions, *, render: bool, worlds: int) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """A vector environment of so many worlds, without automatic resets where they can be turned off."""
    assert options.vector is not None
    spec = find_spec(options)
    kwargs = env_kwargs(options, render=render)
    if options.vector.mode == "vector_entry_point":
        if spec.vector_entry_point is None:
            raise InputError(f'"{spec.id}" has no vector environment of its own; use vector: {{mode: sync}}')
        if spec.max_episode_steps is not None:
            kwargs.setdefault("max_episode_steps", NO_LIMIT)
        vector_kwargs: dict[str, Any] = {}
        wrappers: list[Any] = []
    else:
        if render:
            _require_rendering(spec)
        kwargs.update(max_episode_steps=-1, disable_env_checker=True)
        disabled = {"autoreset_mode": AutoresetMode.DISABLED} if HAS_MODES else {}
        vector_kwargs = {**disabled, **options.vector.kwargs}
        wrappers = [functools.partial(apply_wrapper, wrapper) for wrapper in options.wrappers]
    return _saying_what_is_missing(
        options.id,
        lambda: gymnasium.make_vec(
            spec,
            num_envs=worlds,
            vectorization_mode=options.vector.mode if options.vector else None,
            vector_kwargs=vector_kwargs,
            wrappers=wrappers,
            **kwargs,
        ),
    )


def env_kwargs(options: GymnasiumOptions, *, render: bool) -> dict[str, Any]:
    """Keyword arguments of the constructor, safe to change."""
    kwargs = copy.deepcopy(options.kwargs)
    if render:
        kwargs["render_mode"] = "rgb_array"
    return kwargs


def apply_wrapper(wrapper: WrapperCfg, env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
    """The environment inside a wrapper."""
    wrapped = import_object(wrapper.target)(env, **copy.deepcopy(wrapper.kwargs))
    if not isinstance(wrapped, gymnasium.Env):
        raise InputError(f'the wrapper "{wrapper.target}" gave a {type(wrapped).__name__}; expected a gymnasium.Env')
    return wrapped


def _require_rendering(spec: registration.EnvSpec) -> None:
    """Refuse an environment whose class says that it gives no frames; one that says nothing is tried."""
    entry = spec.entry_point
    creator = registration.load_env_creator(entry) if isinstance(entry, str) else entry
    modes = getattr(creator, "metadata", {}).get("render_modes")
    if modes is not None and "rgb_array" not in modes:
        raise InputError(
            f'"{spec.id}" gives no frames: video needs the render mode rgb_array, and it has '
            f"{', '.join(modes) or 'none'}; use record: series"
        )


def _saying_what_is_missing(env_id: str, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except gymnasium.error.DependencyNotInstalled as error:
        reason = str(error).rstrip(".")
        raise InputError(f'"{env_id}" needs a package that is not installed: {reason}') from error
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        raise InputError(f'"{env_id}" needs the package "{name}"; install it with: pip install {name}') from error


def make(options: GymnasiumOptions, *, render: bool, worlds: int) -> Env | BatchEnv:
    """One environment, or with `vector` a vector of so many worlds."""
    factory = None if options.vector is not None else factory_of(options)
    if factory is not None:
        made = GymnasiumEnv(maker := Maker(factory, options, render=render), options)
        made.max_steps = maker.max_steps
        return made
    max_steps = find_spec(options).max_episode_steps
    if options.vector is None:
        return GymnasiumEnv(functools.partial(make_single, options, render=render), options, max_steps)
    from proctor.suites.gymnasium.vector import VectorEnvAdapter

    vector = make_vector(options, render=render, worlds=worlds)
    return VectorEnvAdapter(vector, options=options, max_steps=max_steps, owned=True)
