"""Making the environment of a task of the `gymnasium` suite, in whatever interpreter has Gymnasium."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from proctor.suites.gymnasium.env import GymnasiumEnv
from proctor.suites.gymnasium.factories import Maker
from proctor.suites.gymnasium.making import factory_of, find_spec, make_single, make_vector

if TYPE_CHECKING:
    from proctor.suites.gymnasium.options import GymnasiumOptions
    from proctor_host.environments import BatchEnv, Env


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
