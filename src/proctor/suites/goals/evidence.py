"""What is known of a prior before anything is computed: its answers, and the success visuals to hold them against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from proctor.suites.goals.metrics.embeddings import Embeddings, unit_rows
from proctor.suites.goals.visuals import TaskVisuals, Visuals

ALONG_THE_TEXT = 0.99
"""Cosine of a goal with the embedding of its text from which on it is called that embedding."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What a prior answered. `goals` (t, s, d): s draws for the instruction of each of `tasks`; `wordings`: by task the
    goals (w, s, d) of its different wordings, s draws of each, all independent. `texts`: the instructions in the text
    encoder's own space."""

    name: str
    target: str
    space: str
    tasks: tuple[str, ...]
    goals: np.ndarray
    wordings: Mapping[str, np.ndarray]
    texts: Embeddings | None = None
    missing: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def units(self) -> np.ndarray:
        """Directions of the draws, float64 (t, s, d)."""
        return unit_rows(self.goals.astype(np.float64), f"the goals of {self.name}")

    @cached_property
    def means(self) -> np.ndarray:
        """Mean directions of each task's draws, float64 (t, d), of length 1 at most: a cosine with one is the mean over
        draws."""
        return self.units.mean(axis=1)

    @cached_property
    def distinct(self) -> np.ndarray:
        """How many different draws there are for each task, (t,): 1 where a prior does not draw."""
        return np.array([len(np.unique(own, axis=0)) for own in self.goals])

    @cached_property
    def is_the_text(self) -> bool:
        """Whether the goals are merely the embeddings of their texts, at any length and with whatever noise around
        them: for every task the mean direction of the draws is the text's. Then nothing was imagined, and a cosine with
        a picture compares two spaces, whatever name the space of the goals has."""
        if self.texts is None or self.texts.dim != self.goals.shape[-1]:
            return False
        along = np.einsum("td,td->t", self.means, self.texts.units.astype(np.float64))
        return bool((along > ALONG_THE_TEXT * np.linalg.norm(self.means, axis=1)).all())

    @property
    def embeddings(self) -> Embeddings:
        """The goals, one draw to a row, with their space."""
        return Embeddings(self.goals.reshape(-1, self.goals.shape[-1]), self.space)


@dataclass(frozen=True, eq=False)
class Gallery:
    """Success visuals side by side, sorted by task as `tasks` are; task i has rows offsets[i] to offsets[i + 1]."""

    tasks: tuple[str, ...]
    embeddings: Embeddings
    offsets: np.ndarray
    rows: Mapping[str, TaskVisuals]

    @classmethod
    def of(cls, visuals: Visuals, tasks: tuple[str, ...], unit: Literal["trial", "window"]) -> Gallery | None:
        """Of these tasks; None where none of them has a visual."""
        own = {task: visuals.tasks[task] for task in tasks if task in visuals.tasks and len(visuals.tasks[task].trial)}
        if not own:
            return None
        rows = {task: found.by_trial if unit == "trial" else found for task, found in own.items()}
        sizes = [len(rows[task].trial) if task in rows else 0 for task in tasks]
        vectors = np.concatenate([found.embeddings.vectors for found in rows.values()])
        return cls(tasks, Embeddings(vectors, visuals.space), np.cumsum([0, *sizes]), rows)

    def places(self, tasks: Sequence[str]) -> np.ndarray:
        """The numbers of these tasks."""
        return np.array([self.tasks.index(task) for task in tasks])

    @cached_property
    def task_of_row(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.tasks)), np.diff(self.offsets))

    def own(self, task: str) -> slice:
        at = self.tasks.index(task)
        return slice(int(self.offsets[at]), int(self.offsets[at + 1]))

    def picture(self, row: int) -> np.ndarray | None:
        """The small picture of a row; None where it has none."""
        task = int(self.task_of_row[row])
        frames = self.rows[self.tasks[task]].frames
        return frames[row - int(self.offsets[task])] if len(frames) else None
