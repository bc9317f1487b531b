"""mjlab's environment of a task, made so that a trial depends on nothing but its seed, and with changes of its config
of nested dataclasses and dicts that are data: dotted name -> value."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from proctor.errors import InputError


def config(options: Any, *, worlds: int) -> Any:
    """mjlab's config of the task. Raises InputError for an unknown task, and for overrides that do not fit it."""
    registry = tasks()
    known = registry.list_tasks()
    if options.task not in known:
        near = difflib.get_close_matches(options.task, known, 1)
        meant = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(known)}"
        raise InputError(f'mjlab has no task "{options.task}"; {meant}')
    cfg = registry.load_env_cfg(options.task, play=options.play)
    trained = cfg if not options.play else registry.load_env_cfg(options.task)
    apply_overrides(cfg, options.overrides)
    cfg.episode_length_s = options.episode_length_s or trained.episode_length_s
    cfg.scene.num_envs = worlds
    cfg.auto_reset = False
    cfg.viewer.max_extra_envs = 0
    _require_files(cfg)
    _make_trials_independent(cfg)
    if worlds > 1:
        _refuse_shared_draws(cfg)
        if options.exact and getattr(cfg.scene.terrain, "terrain_generator", None) is not None:
            raise InputError(
                "batch: on generated terrain the last bits of a trial depend on how many worlds there are; use "
                "batch: false, or exact: false to allow it"
            )
    return cfg


def tasks() -> Any:
    """mjlab's registry, with all tasks in it. Raises InputError where mjlab is missing."""
    os.environ.setdefault("MJLAB_WARP_QUIET", "1")
    try:
        with quiet():
            importlib.import_module("mjlab.tasks")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mjlab":
            raise
        raise InputError("the suite mjlab needs the package mjlab, which this interpreter does not have") from error
    return importlib.import_module("mjlab.tasks.registry")


def build(cfg: Any, *, device: str, render: bool) -> Any:
    """mjlab's environment of a config."""
    module = importlib.import_module("mjlab.envs")
    with quiet():
        return module.ManagerBasedRlEnv(cfg, device=device, render_mode="rgb_array" if render else None)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What mjlab prints goes where errors go."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


def _require_files(cfg: Any) -> None:
    """Raise InputError for a motion that nobody has named: mjlab ships none."""
    for name, command in cfg.commands.items():
        file = getattr(command, "motion_file", None)
        if file is not None and not os.path.isfile(file):
            key = f"commands.{name}.motion_file"
            found = f"there is no file {file}" if file else "the task follows a motion, and none is named"
            raise InputError(f'{found}; expected overrides: {{"{key}": FILE.npz}}, with the whole path')


def _make_trials_independent(cfg: Any) -> None:
    """Take away what a trial would inherit from those before it, or from its place among the worlds."""
    cfg.curriculum = {}
    if cfg.seed is None:
        cfg.seed = 0
    cfg.scene.env_spacing = 0.0
    if cfg.scene.terrain is not None:
        cfg.scene.terrain.env_spacing = 0.0
    for event in filter(None, cfg.events.values()):
        event.min_step_count_between_reset = 0
        event.is_global_time = False


def _refuse_shared_draws(cfg: Any) -> None:
    """Raise InputError for what draws random numbers for all worlds at once, at every step."""
    drawn = [f"events.{name}" for name, event in cfg.events.items() if event and event.mode in ("interval", "step")]
    for group, found in cfg.observations.items():
        if found is not None and found.enable_corruption:
            noisy = [name for name, term in found.terms.items() if term is not None and term.noise is not None]
            drawn += [f"observations.{group}.terms.{name}.noise" for name in noisy]
    if drawn:
        raise InputError(
            f"batch: {', '.join(drawn)} draw random numbers for all worlds at once, so a trial would depend on its "
            "neighbours; use batch: false, play: true, or take them away with overrides"
        )


def apply_overrides(config: Any, overrides: Mapping[str, Any]) -> None:
    """Change `config` in place. A name must exist, so that a misspelt one is no change that nobody sees. Null takes an
    entry of a dict away. A list becomes a tuple where there is one, a whole number a float. Raises InputError."""
    for path, value in overrides.items():
        *parents, last = path.split(".")
        found = config
        for depth, name in enumerate(parents):
            found = _get(found, name, ".".join(parents[:depth]), path)
        _set(found, last, value, path)


def _get(found: Any, name: str, where: str, path: str) -> Any:
    if isinstance(found, Mapping) and name in found:
        return found[name]
    if not isinstance(found, Mapping) and name in _names(found):
        return getattr(found, name)
    raise _unknown(found, name, where, path)


def _set(found: Any, name: str, value: Any, path: str) -> None:
    now = _get(found, name, path.rpartition(".")[0], path)
    if isinstance(found, dict) and value is None:
        del found[name]
        return
    value = _like(now, value, path)
    if isinstance(found, dict):
        found[name] = value
    else:
        setattr(found, name, value)


def _like(now: Any, value: Any, path: str) -> Any:
    """`value` as the kind of what it takes the place of. Raises InputError where it cannot be."""
    if isinstance(now, tuple) and isinstance(value, list):
        return tuple(map(_like, now, value, [path] * len(now))) if len(now) == len(value) else tuple(value)
    if isinstance(now, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    same = now is None or value is None or isinstance(value, type(now))
    if not same or (isinstance(value, bool) and not isinstance(now, bool | None)):
        raise InputError(f"overrides.{path}: found {value!r}; expected {_kind(now)}, as {now!r} is")
    return value


def _kind(now: Any) -> str:
    plain = {bool: "true or false", int: "a whole number", float: "a number", str: "text", tuple: "a list"}
    return plain.get(type(now), f"a {type(now).__name__}, which cannot be written here")


def _names(found: Any) -> list[str]:
    if isinstance(found, Mapping):
        return [str(key) for key in found]
    return [field.name for field in dataclasses.fields(found)] if dataclasses.is_dataclass(found) else []


def _unknown(found: Any, name: str, where: str, path: str) -> InputError:
    known = _names(found)
    place = f'"{where}"' if where else "the config"
    if not known:
        return InputError(f'overrides.{path}: {place} has no parts, so there is no "{name}" in it')
    near = difflib.get_close_matches(name, known, 1)
    meant = f'; did you mean "{near[0]}"?' if near else f"; it has {', '.join(sorted(known))}"
    return InputError(f'overrides.{path}: {place} has no "{name}"{meant}')
