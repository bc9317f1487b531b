"""Where an evaluation takes place: its own worlds, or what a caller lends."""

from __future__ import annotations

import sys
from typing import Any, Protocol, cast, runtime_checkable

from proctor.errors import InputError
from proctor.policies.protocol import SpaceInfo
from proctor.suites.tracking.motions import MotionLibrary
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.robot import Robot
from proctor.suites.tracking.suite import TrackingBriefing, load_task
from proctor.suites.tracking.vector import TrackingVectorEnv
from proctor.training.driving import TASK
from proctor.training.lent import LentEnvironment, MotionSource
from proctor.training.options import TrackingEvaluationCfg
from proctor.training.own import LibrarySource, OwnEnvironment

Venue = tuple[LentEnvironment, MotionSource]


@runtime_checkable
class _Lent(Protocol):
    num_worlds: Any
    quaternion: Any

    def read(self) -> Any: ...


@runtime_checkable
class _HoldsSimulator(Protocol):
    _env: Any


@runtime_checkable
class _HoldsMotions(Protocol):
    _motion_lib: Any
    simulator: Any


def own_venue(cfg: TrackingEvaluationCfg) -> Venue:
    """The evaluation's own worlds and motions."""
    return worlds_for(*_own_task(cfg), cfg, cfg)


def own_spaces(cfg: TrackingEvaluationCfg) -> SpaceInfo:
    """Observations, actions and briefing of the evaluation's own environment, as the task `tracking`."""
    from proctor.suites.tracking.batch import action_space
    from proctor.suites.tracking.observing import in_float32, observation_space

    robot, library = _own_task(cfg)
    seen = observation_space(robot, library, cfg)
    return SpaceInfo(
        {TASK: seen if cfg.physics == "cpu" else in_float32(seen)},
        {TASK: action_space(robot)},
        {TASK: lambda: TrackingBriefing(robot, library, cfg)},
    )


def _own_task(cfg: TrackingEvaluationCfg) -> tuple[Robot, MotionLibrary]:
    if not cfg.motions:
        raise InputError("the evaluation has no motions; set `motions`, or lend an environment that has some: env=...")
    return load_task(cfg)


def worlds_for(robot: Robot, library: MotionLibrary, options: TrackingOptions, cfg: TrackingEvaluationCfg) -> Venue:
    """Worlds of one's own for these motions, no more than there are episodes. `options` say what happens in them."""
    episodes = len(library) * cfg.n_episodes_per_motion
    worlds = cfg.num_envs if cfg.include_results_from_all_envs else min(cfg.num_envs, episodes)
    source = LibrarySource(library, robot, options.velocity_multiplier, options.layout)
    if options.physics == "cpu":
        return OwnEnvironment(robot, library, worlds, options), source
    from proctor.training.on_device import DeviceEnvironment

    return DeviceEnvironment(robot, library, worlds, options), source


def _is_on_device(env: Any) -> bool:
    """Whether it is Proctor's environment on a device, whose module nobody has imported else."""
    module: Any = sys.modules.get("proctor.suites.tracking.device.environment")
    return module is not None and isinstance(env, module.TrackingDeviceEnv)


def lent_venue(env: Any, cfg: TrackingEvaluationCfg) -> Venue:
    """What a caller lends, adapted. Proctor's own environments are left alone: the evaluation makes worlds beside
    them, with the same robot, motions and options. A HumanoidVerse environment has motions of its own; any other is
    given those of the config."""
    from proctor.training.humanoidverse import HumanoidVerseEnvironment, HumanoidVerseMotions

    if isinstance(env, TrackingVectorEnv) or _is_on_device(env):
        options = env.options.model_copy(update={"max_episode_length_s": cfg.max_episode_length_s})
        return worlds_for(env.robot, env.library, options, cfg)
    if isinstance(env, HumanoidVerseEnvironment):
        return env, HumanoidVerseMotions(env.env, velocity_multiplier=cfg.velocity_multiplier)
    if isinstance(env, _Lent):
        if not cfg.motions:
            raise InputError("an environment that is lent by LentEnvironment's methods has no motions; set `motions`")
        robot, library = load_task(cfg)
        return cast(LentEnvironment, env), LibrarySource(library, robot, cfg.velocity_multiplier, cfg.layout)
    if isinstance(env, _HoldsSimulator) and isinstance(env._env, _HoldsMotions):
        lent = HumanoidVerseEnvironment(env, legacy=cfg.legacy)
        return lent, HumanoidVerseMotions(env, velocity_multiplier=cfg.velocity_multiplier)
    raise InputError(
        f"cannot evaluate in a {type(env).__name__}: expected Proctor's TrackingVectorEnv or TrackingDeviceEnv, a "
        "HumanoidVerse environment, or an object with the methods of proctor.training.lent.LentEnvironment"
    )
