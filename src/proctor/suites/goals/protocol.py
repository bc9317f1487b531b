"""What a goal model is.

A text-conditioned agent turns an instruction into a goal embedding (its *prior*), and acts towards that. The goal lives
in the space of pictures: it says what success looks like. A goal model is that prior together with the encoder of
pictures that shares its space.

Randomness comes from the generator that is handed in, never from a global one: equal generators give equal goals.
"""

from __future__ import annotations

import abc
import hashlib
import os
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from proctor.errors import BREAKS, InputError
from proctor.registry import call_target
from proctor.suites.goals.metrics.embeddings import Embeddings


class GoalModel(abc.ABC):
    """From text to a goal, and from pictures to what goals are compared with."""

    space: str
    """Of goals and of pictures: a name that changes with the encoder of pictures."""
    window: int = 1
    """How many frames the encoder sees at once."""
    frame_size: tuple[int, int]
    """Height and width of these frames."""
    text_space: str | None = None
    """Of `encode_text`; None: there is no text encoder to be asked."""
    name: str = ""
    """For errors; empty: that of the class."""
    fingerprint: str = ""
    """Changes where the weights do; part of the encoder's hash, which decides whether stored pictures may be used."""

    @abc.abstractmethod
    def embed_goal(self, texts: list[str], rng: np.random.Generator) -> np.ndarray:
        """The goals (n, d) that the texts mean, in `space`. A sampled prior draws from `rng`."""

    @abc.abstractmethod
    def encode_frames(self, frames: np.ndarray) -> np.ndarray:
        """Embeddings (n, d) in `space` of windows, uint8 (n, window, height, width, 3); the last frame is the
        latest."""

    def encode_text(self, texts: list[str]) -> np.ndarray:
        """Embeddings (n, d) of the texts in `text_space`: a space of its own."""
        raise NotImplementedError(f"{type(self).__name__} has no text encoder")


GOAL_STREAM, DRAW_STREAM, WORDING_STREAM = 2, 3, 4
"""What is drawn for a trial, for the draws of an evaluation and for its wordings: kept apart from each other, and from
what the policy draws."""


def task_rng(seed: int, stream: int, task: str, *numbers: int) -> np.random.Generator:
    """The generator of a stream for a task, the same whoever else is asked for."""
    word = int.from_bytes(hashlib.blake2b(task.encode(), digest_size=4).digest(), "big")
    sequence = np.random.SeedSequence(seed, spawn_key=(stream, word, *numbers))
    return np.random.Generator(np.random.PCG64(sequence))


def make_model(target: Any, name: str, given: Mapping[str, Any], kwargs: Mapping[str, Any]) -> GoalModel:
    """The goal model that a class or a factory makes of `kwargs`, and of those of `given` that its signature names.
    Raises InputError where it is none, or with what was raised on the way."""
    if not callable(target):
        raise InputError(f"{name} is a {type(target).__name__}; expected a GoalModel class or a factory")
    made = _said_by(f"{name} cannot be made: it", lambda: call_target(target, name, given, kwargs))
    if not isinstance(made, GoalModel):
        raise InputError(
            f"{name} gave a {type(made).__name__}; expected a GoalModel (subclass proctor.suites.goals.GoalModel)"
        )
    return made


def goals_of(model: GoalModel, texts: Sequence[str], rng: np.random.Generator) -> Embeddings:
    """The goals of these texts, one row each, checked."""
    where = f"{_name(model)}.embed_goal"
    return _checked(_said_by(where, lambda: model.embed_goal(list(texts), rng)), len(texts), model.space, where)


def pictures_of(model: GoalModel, windows: np.ndarray) -> Embeddings:
    """The embeddings of windows, uint8 (n, window, height, width, 3), or of one without the first axis; checked."""
    batch = windows[None] if windows.ndim == 4 else windows
    expected = (model.window, *model.frame_size, 3)
    if batch.shape[1:] != expected or batch.dtype != np.uint8:
        raise InputError(
            f"{_name(model)}.encode_frames takes uint8 windows {expected}; found {batch.dtype} {batch.shape[1:]}"
        )
    where = f"{_name(model)}.encode_frames"
    return _checked(_said_by(where, lambda: model.encode_frames(batch)), len(batch), model.space, where)


def texts_of(model: GoalModel, texts: Sequence[str]) -> Embeddings | None:
    """The embeddings of texts in their own space; None where the model has no text encoder."""
    if model.text_space is None:
        return None
    where = f"{_name(model)}.encode_text"
    return _checked(_said_by(where, lambda: model.encode_text(list(texts))), len(texts), model.text_space, where)


MOST_SAID = 300
"""Characters of what somebody's code raised that are shown."""


def _said_by(where: str, ask: Callable[[], Any]) -> Any:
    """What is answered. Raises InputError, in one sentence with the line that raised it, for what a model raises."""
    try:
        return ask()
    except InputError:
        raise
    except BREAKS as problem:
        frames = traceback.extract_tb(problem.__traceback__)
        theirs = [frame for frame in frames if os.path.dirname(frame.filename) != os.path.dirname(__file__)] or frames
        at = f" ({os.path.basename(theirs[-1].filename)}, line {theirs[-1].lineno})" if theirs else ""
        first = next(iter(str(problem).splitlines()), "")
        words = f": {first[:MOST_SAID]}" if first else ""
        raise InputError(f"{where} raised {type(problem).__name__}{words}{at}") from problem


def _name(model: GoalModel) -> str:
    return model.name or type(model).__name__


def _checked(given: Any, rows: int, space: str, where: str) -> Embeddings:
    array = np.asarray(given)
    if array.ndim != 2 or len(array) != rows or not np.issubdtype(array.dtype, np.floating):
        raise InputError(f"{where} gave {array.dtype} {array.shape}; expected floats (n, d) with n = {rows}")
    return Embeddings.of(array, space)
