"""The `tracking` suite."""

from __future__ import annotations

import functools
import importlib.util
import os
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from proctor.errors import MissingExtra
from proctor.suites.protocol import BatchEnv, Suite, SuiteOptions
from proctor.suites.tracking.motions import MotionLibrary, MotionOptions, load_motions
from proctor.suites.tracking.observations import reference_observations
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.robot import Robot, load_robot


class TrackingBriefing:
    """What an agent may know beforehand: the robot, and every motion it will be asked to follow. The observation group
    `motion` is an index into `library`, `frame` a frame of it."""

    def __init__(self, robot: Robot, library: MotionLibrary, options: TrackingOptions):
        self.robot, self.library, self.options = robot, library, options

    def reference_observations(self, motion: int) -> dict[str, np.ndarray]:
        """What a robot that follows the motion perfectly observes in each of its T frames: `state` (T, ...) and
        `privileged_state` (T, ...), velocities scaled by `velocity_multiplier`."""
        reference = self.library.reference(motion)
        return reference_observations(
            self.robot,
            reference,
            velocity_multiplier=self.options.velocity_multiplier,
            layout=self.options.layout,
        )


class TrackingSuite(Suite):
    """A humanoid follows reference motions; one trial is one motion."""

    name: ClassVar[str] = "tracking"
    Options: ClassVar[type[SuiteOptions]] = TrackingOptions
    portrayer: ClassVar[str | None] = "proctor.suites.tracking.portraits:TrackingPortrayer"
    environment: ClassVar[str | None] = "proctor.suites.tracking.suite:make"
    kernels: ClassVar[tuple[str, ...]] = (
        "proctor.metrics.transport:warm",
        "proctor.suites.tracking.suite:warm",
    )

    def task_name(self, options: TrackingOptions) -> str:
        """`tracking`: what tells tasks of the suite apart is for the config to name."""
        return self.name

    def is_batch(self, options: TrackingOptions) -> bool:
        return True

    def accelerator(self, options: TrackingOptions) -> str | None:
        return None if options.device == "cpu" else options.device

    def scoring(self, options: TrackingOptions) -> str:
        return "tracking_v1"

    def task_defaults(self, options: TrackingOptions) -> dict[str, Any]:
        """Success is to have followed the motion in every frame: it is kept, and reached at no step."""
        return {"success_rule": "throughout"}

    def make(self, options: TrackingOptions, *, render: bool, worlds: int) -> BatchEnv:
        return make(options, render=render, worlds=worlds)

    def default_trials(self, options: TrackingOptions) -> int | None:
        """Every motion, `n_episodes_per_motion` times."""
        return len(load_task(options)[1]) * options.n_episodes_per_motion

    def briefing(self, options: TrackingOptions) -> TrackingBriefing:
        return TrackingBriefing(*load_task(options), options)


def make(options: Any, *, render: bool, worlds: int) -> BatchEnv:
    """The worlds of a task, on the processor or on a device. `options` has the fields of `TrackingOptions`. Raises
    InputError for what the user can mend."""
    if not isinstance(options, TrackingOptions):
        options = TrackingOptions.model_validate(options)
    robot, library = load_task(options)
    if options.physics == "cpu":
        from proctor.suites.tracking.batch import TrackingBatchEnv

        return TrackingBatchEnv(robot, library, worlds, options)
    if importlib.util.find_spec("torch") is None:
        raise MissingExtra(f"physics: {options.physics}", "torch", "torch")
    from proctor.suites.tracking.device.environment import TrackingDeviceEnv

    return TrackingDeviceEnv(robot, library, worlds, options)


def load_task(options: TrackingOptions) -> tuple[Robot, MotionLibrary]:
    """The robot and the motions of a task. Raises InputError for what the user can mend. The last few are kept, so
    that asking for trials, briefing and environment reads the files once; a file that changed is read again."""
    keys = {"robot", "description_file", "robot_options", "motions", "control_hz", "cache_folder"}
    data = options.model_dump_json(include=keys | set(MotionOptions.model_fields))
    return _load(data, _stamps(options))


@functools.lru_cache(maxsize=4)
def _load(data: str, stamps: tuple[tuple[str, float], ...]) -> tuple[Robot, MotionLibrary]:
    options = TrackingOptions.model_validate_json(data)
    robot = robot_of(options)
    library = load_motions(
        options.motions,
        robot,
        1.0 / options.control_hz,
        cache=None if options.cache_folder is None else Path(options.cache_folder),
        **options.model_dump(include=set(MotionOptions.model_fields), exclude_unset=True),
    )
    return robot, library


def robot_of(options: TrackingOptions) -> Robot:
    """The robot that the options describe. Raises InputError for what the user can mend."""
    described = {} if options.description_file is None else {"description": options.description_file}
    return load_robot(options.robot, **described, **options.robot_options)


def _stamps(options: TrackingOptions) -> tuple[tuple[str, float], ...]:
    """When the files and folders that the options name were last changed."""
    named = [source["path"] if isinstance(source, dict) and "path" in source else source for source in options.motions]
    roots = [Path(str(n)).expanduser() for n in (options.robot, options.description_file, *named) if n is not None]
    files = [file for root in roots for file in ([root, *root.rglob("*")] if os.path.isdir(root) else [root])]
    return tuple((str(file), file.stat().st_mtime) for file in files if os.path.exists(file))


def warm() -> None:
    """Calls every kernel of the tracking worlds once, so that it is compiled."""
    options = TrackingOptions(motions=["procedural:wave"], threads=1, terminate={"far_m": 1.0})  # pyright: ignore[reportArgumentType]
    env = TrackingSuite().make(options, render=False, worlds=2)
    env.reset([0, 1], [0, 1], [0, 0])
    env.step({0: env.dummy_action()})
    env.step({0: env.dummy_action(), 1: env.dummy_action()})
    env.close()
