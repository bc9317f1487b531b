"""What a worker calls in the interpreter that has mjlab."""

from __future__ import annotations

from typing import Any

from proctor.suites.mjlab.worlds import MjlabEnv, MjlabWorlds


def make(options: Any, *, render: bool, worlds: int) -> MjlabEnv | MjlabWorlds:
    """The environment of a task: with `batch`, `worlds` worlds in one simulation, else one. `options` has the fields of
    `MjlabOptions`. Raises InputError for what the user can mend."""
    if options.batch:
        return MjlabWorlds(options, render=render, worlds=worlds)
    return MjlabEnv(options, render=render)
