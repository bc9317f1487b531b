"""Made-up answers of priors and success visuals, and all dimensions of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor.suites.goals import against_visuals, dimensions
from proctor.suites.goals.config import GoalsCfg
from proctor.suites.goals.evidence import Answers, Gallery
from proctor.suites.goals.metrics.embeddings import Embeddings
from proctor.suites.goals.report.model import Dimension, absent
from proctor.suites.goals.visuals import TaskVisuals, Visuals

SPACE = "made/up"
TASKS = ("a", "b", "c", "d")


def cfg(**keys: Any) -> GoalsCfg:
    return GoalsCfg.model_validate({"model": "any:Model", "k": 2, **keys})


def visuals_of(by_task: dict[str, np.ndarray], space: str = SPACE) -> Visuals:
    def own(vectors: np.ndarray) -> TaskVisuals:
        n = np.arange(len(vectors))
        frames = np.zeros((len(n), 2, 2, 3), np.uint8)
        return TaskVisuals(Embeddings(vectors, space), n, n, n, n > n, frames, "", len(n))

    return Visuals(space, {task: own(vectors) for task, vectors in by_task.items()})


def made_up(seed: int = 0, n: int = 6, dim: int = 8) -> tuple[Answers, Gallery, Visuals]:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(len(TASKS), dim))
    visuals = visuals_of({task: c + 0.4 * rng.normal(size=(n, dim)) for task, c in zip(TASKS, centres, strict=True)})
    goals = centres[:, None] + 0.3 * rng.normal(size=(len(TASKS), 3, dim))
    wordings = {task: c + 0.2 * rng.normal(size=(4, 3, dim)) for task, c in zip(TASKS, centres, strict=True)}
    texts = Embeddings(rng.normal(size=(len(TASKS), dim)) + 1, "made/text")
    answers = Answers("p", "any:Prior", SPACE, TASKS, goals, wordings, texts)
    return answers, gallery_of(visuals), visuals


def gallery_of(visuals: Visuals, tasks: tuple[str, ...] = TASKS) -> Gallery:
    gallery = Gallery.of(visuals, tasks, "trial")
    assert gallery is not None
    return gallery


def every(answers: Answers, gallery: Gallery | None, config: GoalsCfg) -> dict[str, Dimension]:
    found = None if gallery is None else against_visuals.neighbours(answers, gallery, config.k)
    no_gap = Dimension("quality_gap", absent("there are no trials"), "pairs")
    made = dimensions.dimensions_of(answers, gallery, found, no_gap, config)
    return {name: own for name, own in made.items() if name != "quality_gap"}
