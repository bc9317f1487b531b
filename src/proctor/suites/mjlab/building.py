"""mjlab's environment of a task, made so that a trial depends on nothing but its seed."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from proctor.errors import InputError
from proctor.suites.mjlab import overrides


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
    overrides.apply(cfg, options.overrides)
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
