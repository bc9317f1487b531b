"""The `gymnasium` suite."""

from __future__ import annotations

import functools
from typing import ClassVar

from proctor.suites.gymnasium.env import GymnasiumEnv
from proctor.suites.gymnasium.making import find_spec, make_single, make_vector
from proctor.suites.gymnasium.options import GymnasiumOptions
from proctor.suites.gymnasium.vector import VectorEnvAdapter
from proctor.suites.protocol import BatchEnv, Env, Suite, SuiteOptions


class GymnasiumSuite(Suite):
    """Any registered Gymnasium environment."""

    name: ClassVar[str] = "gymnasium"
    Options: ClassVar[type[SuiteOptions]] = GymnasiumOptions
    runtime: ClassVar[str | None] = "gymnasium"

    def task_name(self, options: GymnasiumOptions) -> str:
        """The id without its module, `/` made a dash."""
        return options.id.rpartition(":")[2].replace("/", "-")

    def is_batch(self, options: GymnasiumOptions) -> bool:
        return options.vector is not None

    def defines_success(self, options: GymnasiumOptions) -> bool:
        """Where the config says what success is. That an environment reports success by itself is not known before it
        runs."""
        return options.success is not None

    def make(self, options: GymnasiumOptions, *, render: bool, worlds: int) -> Env | BatchEnv:
        max_steps = find_spec(options).max_episode_steps
        make = functools.partial(make_single, options, render=render)
        if options.vector is None:
            return GymnasiumEnv(make, options, max_steps)
        vector = make_vector(options, render=render, worlds=worlds)
        return VectorEnvAdapter(vector, options=options, max_steps=max_steps, owned=True)
