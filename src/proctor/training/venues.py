"""Where an evaluation takes place: its own worlds, or what a caller lends."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from proctor.errors import InputError
from proctor.policies.protocol import SpaceInfo
from proctor.suites.tracking.motions import MotionLibrary
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.robot import Robot
from proctor.suites.tracking.suite import TrackingBriefing, load_task
from proctor.training.driving import TASK
from proctor.training.lent import LentEnvironment, MotionSource
from proctor.training.library_source import LibrarySource
from proctor.training.options import TrackingEvaluationCfg

Venue = tuple[LentEnvironment, MotionSource]


@runtime_checkable
class _Lent(Protocol):
    num_worlds: Any
    quaternion: Any

    def read(self) -> Any: ...


@runtime_checkable
class _MotionLib(Protocol):
    def get_motion_state(self, motion_ids: Any, motion_times: Any) -> Any: ...


def own_venue(cfg: TrackingEvaluationCfg) -> Venue:
    """The evaluation's own worlds and motions."""
    return worlds_for(*_own_task(cfg), cfg, cfg)


def own_spaces(cfg: TrackingEvaluationCfg) -> SpaceInfo:
    """Observations, actions and briefing of the evaluation's own environment, as the task `tracking`."""
    from proctor.suites.tracking.batch import action_space
    from proctor.suites.tracking.observing import observation_space

    robot, library = _own_task(cfg)
    return SpaceInfo(
        {TASK: observation_space(robot, library, cfg)},
        {TASK: action_space(robot)},
        {TASK: lambda: TrackingBriefing(robot, library, cfg)},
    )


def _own_task(cfg: TrackingEvaluationCfg) -> tuple[Robot, MotionLibrary]:
    if not cfg.motions:
        raise InputError("the evaluation has no motions; set `motions`, or lend an environment that has some: env=...")
    return load_task(cfg)


def worlds_for(robot: Robot, library: MotionLibrary, options: TrackingOptions, cfg: TrackingEvaluationCfg) -> Venue:
    """Worlds of one's own for these motions, no more than there are episodes. `options` say what happens in them."""
    from proctor.training.own import OwnEnvironment

    episodes = len(library) * cfg.n_episodes_per_motion
    worlds = cfg.num_envs if cfg.include_results_from_all_envs else min(cfg.num_envs, episodes)
    return OwnEnvironment(robot, library, worlds, options), LibrarySource(library, robot, cfg.velocity_multiplier)


def lent_venue(env: Any, cfg: TrackingEvaluationCfg) -> Venue:
    """What a caller lends, adapted. Motions are those of the config where it names some, else the environment's."""
    from proctor.training.humanoidverse import HumanoidVerseEnvironment, HumanoidVerseMotions

    if isinstance(env, _Lent):
        if not cfg.motions:
            raise InputError("a lent environment of your own needs `motions` in the evaluation's options")
        robot, library = load_task(cfg)
        return env, LibrarySource(library, robot, cfg.velocity_multiplier)  # type: ignore[return-value]
    inner = getattr(env, "_env", None)
    if isinstance(getattr(inner, "_motion_lib", None), _MotionLib):
        return HumanoidVerseEnvironment(env), HumanoidVerseMotions(env, velocity_multiplier=cfg.velocity_multiplier)
    raise InputError(
        f"cannot evaluate in a {type(env).__name__}: expected Proctor's TrackingVectorEnv, a HumanoidVerse environment "
        "or an object with the methods of proctor.training.lent.LentEnvironment"
    )
