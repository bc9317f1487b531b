"""Dimensions that hold goals against pictures of success: accuracy, retrieval, and the gain over the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from proctor.suites.goals.config import GoalsCfg
from proctor.suites.goals.evidence import Answers, Gallery
from proctor.suites.goals.intervals import BOOTSTRAP, COSINE, Range, mean_interval, stratified
from proctor.suites.goals.left_out import Part, known, mean_chance, over_tasks, with_others
from proctor.suites.goals.metrics.embeddings import same_space, unit_rows
from proctor.suites.goals.metrics.pairwise import own_cosines
from proctor.suites.goals.metrics.retrieval import Nearest, nearest, share_of_own
from proctor.suites.goals.report.model import Dimension, Reading, absent

NO_VISUALS = "there are no success visuals of its tasks; collect some with `proctor goals collect`"
NO_TEXTS = "the model has no text encoder"
EMBEDDINGS = "success embeddings"


def cosines_by_task(answers: Answers, gallery: Gallery, cfg: GoalsCfg) -> dict[str, np.ndarray]:
    """By task the cosines (n,) of its success embeddings with its goals, mean over draws; shifted where asked for.
    Tasks without visuals are left out. Raises SpaceMismatch where the two are of different spaces."""
    same_space(answers.embeddings, gallery.embeddings, f"goal accuracy of {answers.name}")
    units = gallery.embeddings.units
    goals = np.zeros((len(gallery.tasks), units.shape[1]), units.dtype)
    goals[gallery.places(answers.tasks)] = answers.means
    flat = np.clip(own_cosines(goals, units, gallery.offsets).astype(np.float64), -1, 1)
    flat = (flat + 1) / 2 if cfg.accuracy == "shifted" else flat
    return {task: flat[gallery.own(task)] for task in answers.tasks if task in gallery.rows}


def accuracy(answers: Answers, gallery: Gallery | None, cfg: GoalsCfg) -> Dimension:
    """How like the pictures of success the goals are. n counts success embeddings. Chance: the goals of other tasks,
    held against the same pictures."""
    found = {} if gallery is None else cosines_by_task(answers, gallery, cfg)
    if gallery is None or not found:
        return Dimension("accuracy", absent(NO_VISUALS), EMBEDDINGS)
    chance = _chance(answers, gallery, cfg)
    if cfg.accuracy == "mean_embedding":
        return _mean_embedding(answers, gallery, chance, cfg)
    within = (0.0, 1.0) if cfg.accuracy == "shifted" else COSINE
    by_task = {
        task: _mean(found[task], cfg.level, within, chance[task]) if task in found else absent(NO_VISUALS)
        for task in answers.tasks
    }
    overall = _mean_over_tasks([*found.values()], cfg, mean_chance([*chance.values()]))
    return Dimension("accuracy", overall, EMBEDDINGS, BOOTSTRAP, by_task=by_task)


def _chance(answers: Answers, gallery: Gallery, cfg: GoalsCfg) -> dict[str, float | None]:
    """By task with pictures what the goals of the other tasks with pictures get there."""
    tasks = [task for task in answers.tasks if task in gallery.rows]
    goals = answers.means[[answers.tasks.index(task) for task in tasks]]
    seen = np.stack([gallery.embeddings.units[gallery.own(task)].mean(axis=0, dtype=np.float64) for task in tasks])
    if cfg.accuracy == "mean_embedding":
        seen = unit_rows(seen, "a mean success visual")
    others = with_others(goals, seen)
    others = (others + 1) / 2 if cfg.accuracy == "shifted" else others
    return {task: known(value) for task, value in zip(tasks, others.tolist(), strict=True)}


def _mean_over_tasks(tasks: Sequence[np.ndarray], cfg: GoalsCfg, chance: float | None = None) -> Reading:
    """The mean of the tasks' means, with an interval from within them."""
    value = float(np.mean([values.mean() for values in tasks]))
    return Reading(value, sum(map(len, tasks)), *stratified(tasks, cfg.level, cfg.seed), chance=chance)


def _mean(values: np.ndarray, level: float, within: Range, chance: float | None) -> Reading:
    return Reading(float(values.mean()), len(values), *mean_interval(values, level, within), chance=chance)


def _mean_embedding(answers: Answers, gallery: Gallery, chance: Mapping[str, float | None], cfg: GoalsCfg) -> Dimension:
    units = gallery.embeddings.units
    parts = {
        task: _to_mean(goal.astype(np.float64), units[gallery.own(task)].astype(np.float64), chance[task])
        if task in gallery.rows
        else absent(NO_VISUALS)
        for task, goal in zip(answers.tasks, answers.means, strict=True)
    }
    return over_tasks("accuracy", EMBEDDINGS, parts, cfg.level)


def _to_mean(goal: np.ndarray, own: np.ndarray, chance: float | None) -> Part:
    """The cosine of a goal with the mean of `own` (n, d), and with each row left out in turn."""
    total = own.sum(axis=0)
    without = unit_rows(total - own, "a mean visual") @ goal if len(own) > 1 else np.empty(0)
    return Part(float(goal @ unit_rows(total, "a mean success visual")), without, len(own), chance)


def neighbours(answers: Answers, gallery: Gallery, k: int) -> Nearest:
    """The k nearest success visuals of every draw of every task, (t * s, k); all of them where there are fewer than k.
    Draws that are all alike are looked up once."""
    same_space(answers.embeddings, gallery.embeddings, f"retrieval by {answers.name}")
    visuals, draws = gallery.embeddings.units, answers.units.shape[1]
    k = min(k, len(visuals))
    if (answers.units == answers.units[:, :1]).all():
        once = nearest(answers.units[:, 0].astype(visuals.dtype), visuals, k)
        return Nearest(np.repeat(once.index, draws, axis=0), np.repeat(once.cosine, draws, axis=0))
    return nearest(answers.units.reshape(-1, visuals.shape[1]).astype(visuals.dtype), visuals, k)


def retrieval(answers: Answers, gallery: Gallery | None, found: Nearest | None, cfg: GoalsCfg) -> Dimension:
    """Whether the nearest pictures are of the task: of the k nearest, or of as many as the task has. n counts tasks.
    Chance: the task's share of all pictures."""
    if gallery is None or found is None:
        return Dimension("retrieval", absent(NO_VISUALS), "tasks")
    draws, distinct = answers.goals.shape[1], answers.distinct
    sizes = np.diff(gallery.offsets)
    group = np.repeat(gallery.places(answers.tasks), draws)
    looked = np.minimum(np.maximum(sizes, 1), cfg.k)
    shares = share_of_own(found, group, gallery.task_of_row, looked[group]).reshape(-1, draws).mean(axis=1)
    by_task: dict[str, Reading] = {}
    for number, (task, share) in enumerate(zip(answers.tasks, shares.tolist(), strict=True)):
        place = gallery.tasks.index(task)
        by_task[task] = absent(NO_VISUALS)
        if task in gallery.rows:
            n, chance = int(distinct[number] * looked[place]), float(sizes[place] / sizes.sum())
            by_task[task] = Reading(share, n, no_interval="a share of so few is shown by itself", chance=chance)
    held = [reading for reading in by_task.values() if reading.value is not None]
    if not held:
        return Dimension("retrieval", absent(NO_VISUALS), "tasks", by_task=by_task)
    values = np.array([reading.value for reading in held])
    overall = _mean_over_tasks([values], cfg, mean_chance([reading.chance for reading in held]))
    return Dimension("retrieval", overall, "tasks", "BCa bootstrap over tasks", by_task=by_task)


def gain_cross_space(answers: Answers, gallery: Gallery | None, cfg: GoalsCfg) -> Dimension:
    """Accuracy of the prior minus that of the bare text embedding. The latter compares two spaces."""
    texts = answers.texts
    if texts is None or gallery is None:
        return Dimension("gain_cross_space", absent(NO_TEXTS if texts is None else NO_VISUALS), EMBEDDINGS)
    if texts.dim != gallery.embeddings.dim:
        why = f"texts have {texts.dim} dimensions and success visuals {gallery.embeddings.dim}"
        return Dimension("gain_cross_space", absent(why), EMBEDDINGS)
    bare = Answers("text", "", gallery.embeddings.space, answers.tasks, texts.vectors[:, None], {})
    ours, theirs = cosines_by_task(answers, gallery, cfg), cosines_by_task(bare, gallery, cfg)
    if not ours:
        return Dimension("gain_cross_space", absent(NO_VISUALS), EMBEDDINGS)
    overall = _mean_over_tasks([ours[task] - theirs[task] for task in ours], cfg)
    return Dimension("gain_cross_space", overall, EMBEDDINGS, BOOTSTRAP)
