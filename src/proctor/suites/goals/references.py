"""Priors to compare others with: the ground truth, one that always answers the same, one that mixes tasks up.

An evaluation that cannot tell these from a trained prior says nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.suites.goals.instructions import Instruction
from proctor.suites.goals.protocol import GoalModel
from proctor.suites.goals.visuals import Visuals


def tasks_by_wording(instructions: Mapping[str, Instruction]) -> dict[str, str]:
    """Wording -> task. Raises InputError where two tasks share one: then the text does not say which is meant."""
    found: dict[str, str] = {}
    for task, instruction in instructions.items():
        for wording in instruction.wordings:
            if found.setdefault(wording, task) != task:
                raise InputError(
                    f'tasks "{found[wording]}" and "{task}" share the wording "{wording}"; reword one of them'
                )
    return found


def _known(text: str, tasks: Mapping[str, str]) -> str:
    if text not in tasks:
        raise InputError(f'no task has the wording "{text}"; this reference knows the instructions of the config only')
    return tasks[text]


class GroundTruth(GoalModel):
    """Answers with the mean success visual of the task: no prior can do better. It has no encoders of its own."""

    def __init__(self, visuals: Visuals | None, instructions: Mapping[str, Instruction]):
        if visuals is None:
            raise InputError("the ground truth is made of success visuals; collect them first: proctor goals collect")
        self._visuals, self._tasks = visuals, tasks_by_wording(instructions)
        self.space, self.fingerprint = visuals.space, visuals.files_hash
        self.window = visuals.encoder.get("window", 1)
        height, width = visuals.encoder.get("frame_size", (1, 1))
        self.frame_size = (height, width)

    def embed_goal(self, texts: list[str], rng: np.random.Generator) -> np.ndarray:
        return np.stack([self._visuals.goal(_known(text, self._tasks)) for text in texts])

    def encode_frames(self, frames: np.ndarray) -> np.ndarray:
        raise InputError("the ground truth encodes no frames; name the encoder as `model`")


class _Around(GoalModel):
    """Another model's encoders, with another prior."""

    def __init__(self, make: Callable[[Any], GoalModel], model: Any):
        self.inner = make(model)
        self.space, self.window, self.frame_size = self.inner.space, self.inner.window, self.inner.frame_size
        self.text_space, self.fingerprint = self.inner.text_space, self.inner.fingerprint

    def encode_frames(self, frames: np.ndarray) -> np.ndarray:
        return self.inner.encode_frames(frames)

    def encode_text(self, texts: list[str]) -> np.ndarray:
        return self.inner.encode_text(texts)


class Constant(_Around):
    """Always answers with the goal that `model` has for one text (None: the first task's instruction), whatever is
    asked: a prior that has collapsed."""

    def __init__(
        self,
        make: Callable[[Any], GoalModel],
        instructions: Mapping[str, Instruction],
        model: Any,
        text: str | None = None,
    ):
        super().__init__(make, model)
        if text is None and not instructions:
            raise InputError("a constant prior needs a text, or the instructions of a config")
        chosen = text or next(iter(instructions.values())).text
        self._goal = np.asarray(self.inner.embed_goal([chosen], np.random.default_rng(0)))

    def embed_goal(self, texts: list[str], rng: np.random.Generator) -> np.ndarray:
        return np.repeat(self._goal, len(texts), axis=0)


class Shuffled(_Around):
    """Answers for every task with the goal that `model` has for the next one, wording by wording: as good a map of the
    tasks, and wrong throughout."""

    def __init__(self, make: Callable[[Any], GoalModel], instructions: Mapping[str, Instruction], model: Any):
        super().__init__(make, model)
        if len(instructions) < 2:
            raise InputError(f"{len(instructions)} task cannot be shuffled; give at least two")
        self._tasks, self._instructions = tasks_by_wording(instructions), dict(instructions)
        names = list(instructions)
        self._next = dict(zip(names, [*names[1:], names[0]], strict=True))

    def embed_goal(self, texts: list[str], rng: np.random.Generator) -> np.ndarray:
        return self.inner.embed_goal([self._swapped(text) for text in texts], rng)

    def _swapped(self, text: str) -> str:
        task = _known(text, self._tasks)
        place = self._instructions[task].wordings.index(text)
        others = self._instructions[self._next[task]].wordings
        return others[place % len(others)]
