"""Making policies in another interpreter. These functions run there, in a policy host (`proctor_host.policies`), with
the packages of its runtime; an import string in `Loader.hosted` says which one."""

from __future__ import annotations

import contextlib
import pickle
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from proctor.policies.arrays import is_module
from proctor.policies.plain import PerTrial
from proctor.policies.protocol import Actions, AnyPolicy, Batch, Policy, SpaceInfo, State
from proctor.policies.targets import policy_of
from proctor.registry import import_object
from proctor_host.errors import InputError
from proctor_host.trials import Trial

if TYPE_CHECKING:
    from proctor_host.extras import Options

ENGINES = ("pydantic", "pydantic_core", "gymnasium", "yaml")
"""Packages that Proctor's own interpreter has, and a runtime may not have."""


def python(agent: Options, options: Options, spaces: SpaceInfo) -> AnyPolicy:
    """As the `python` loader. The spaces that a target is given are those of `proctor_host.spaces`. Needs numpy alone,
    unless the target is a model of torch's or Stable-Baselines3's."""
    target = import_object(options.target)
    with _needing(f"{options.target}, which is a model,"):
        known = gymnasium_spaces(spaces) if is_module(target) else spaces
        made = policy_of(
            target, agent, options, {"checkpoint": agent.checkpoint, "device": agent.device, "spaces": known}
        )
    return Packed(made) if isinstance(made, PerTrial) else made


class Packed(Policy):
    """A policy with an object for every trial. The engine keeps them between calls, as bytes that mean something here
    alone."""

    row_by_row = True

    def __init__(self, inner: PerTrial):
        self.inner = inner

    def reset(self, trials: Sequence[Trial]) -> State:
        return _packed(self.inner.reset(trials))

    def act(self, batch: Batch) -> Actions:
        kept = np.empty(len(batch), object)
        kept[:] = [pickle.loads(bytes(one)) for one in batch.state]
        answer = self.inner.act(replace(batch, state=kept))
        return Actions(answer.actions, _packed(answer.state))


def _packed(objects: State) -> np.ndarray:
    """Pickles, which never end in a NUL, as numpy's texts of bytes: those drop them."""
    try:
        return np.array([pickle.dumps(one) for one in objects], np.bytes_)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise TypeError(
            f"a {type(objects[0]).__name__} cannot be kept between calls in a runtime: {error}. Keep in it what can be "
            "pickled, or write a proctor.Policy, whose state is arrays"
        ) from error


def load(agent: Options, options: Options, spaces: SpaceInfo) -> AnyPolicy:
    """What a loader's own `load` makes here, in a runtime that has pydantic, gymnasium and what the loader needs."""
    with _needing(f"the {agent.policy} loader"):
        from proctor.config.models import AgentCfg

        loader, known = import_object(agent.loader)(), gymnasium_spaces(spaces)
    cfg: dict[str, Any] = {key: value for key, value in agent.items() if key != "loader"}
    return loader.load(AgentCfg.model_validate(cfg), loader.Options.model_validate(options), known, Path("/"))


def gymnasium_spaces(spaces: SpaceInfo) -> SpaceInfo:
    """The tasks' spaces as Gymnasium has them."""
    from proctor.spaces import to_gymnasium

    return SpaceInfo(
        {task: to_gymnasium(space) for task, space in spaces.observation.items()},
        {task: to_gymnasium(space) for task, space in spaces.action.items()},
        spaces.briefing,
    )


@contextlib.contextmanager
def _needing(who: str) -> Iterator[None]:
    """What Proctor's own modules need, and this runtime does not have, is said with the command that installs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in ENGINES:
            raise
        raise InputError(
            f'{who} needs the package "{error.name}" in its runtime; install it with: '
            f"{sys.executable} -m pip install {error.name}"
        ) from error
