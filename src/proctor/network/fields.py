"""What a server that announces `proctor: 1` is told beside an observation, and what it answers beside actions.

A request: `proctor/trial` (a map: `session` of the client, `agent`, `task`, `index`, and `asked`, how often this trial
has asked before), `proctor/seed`, `proctor/step` (environment steps so far) and `proctor/stage`. An answer has
`actions` with `proctor/then`, the stage to ask next, or one of `proctor/goto` (a stage), `proctor/error` (the policy
gave up or broke) and `proctor/restart` (the server does not know the trial: it must begin again).

Observations have one flat key per array: `observation`, or `observation/KEY` for an entry of a dict, `observation/0`
for one of a tuple, deeper nesting with further slashes.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.spaces import EntryPath

ANNOUNCED = "proctor"
VERSION = 1
TRIAL, SEED, STEP, STAGE = "proctor/trial", "proctor/seed", "proctor/step", "proctor/stage"
ACTIONS, THEN, GOTO, ERROR, RESTART = (
    "actions", "proctor/then", "proctor/goto", "proctor/error", "proctor/restart",
)  # fmt: skip
OBSERVATION, TEXT = "observation", "text"


def key_of(path: Sequence[str | int]) -> str:
    """The flat key of an entry."""
    return "/".join([OBSERVATION, *map(str, path)])


def sendable(space: Any) -> bool:
    """Whether its values are arrays or text."""
    from gymnasium import spaces

    return isinstance(space, spaces.Box | spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary | spaces.Text)


def kind_of(space: Any) -> list[Any]:
    """What a value of this space looks like on the wire: dtype and shape; `text` for text. Raises InputError for a
    space of other things."""
    from gymnasium import spaces

    if not sendable(space):
        raise InputError(f"values of {space} cannot be sent; expected arrays or text")
    return [TEXT, []] if isinstance(space, spaces.Text) else [np.dtype(space.dtype).str, list(space.shape or ())]


def shown(kind: list[Any]) -> str:
    """A kind for people: `float32(6,)`."""
    return TEXT if kind[0] == TEXT else f"{np.dtype(kind[0])}{tuple(kind[1])}"


def entry(observation: Any, path: EntryPath) -> Any:
    """What lies at a path of an observation."""
    return functools.reduce(operator.getitem, path, observation)
