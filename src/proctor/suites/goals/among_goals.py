"""Dimensions of goals among themselves, without a picture: consistency, robustness, discriminability, variance."""

from __future__ import annotations

import math

import numpy as np

from proctor.suites.goals.against_visuals import NO_TEXTS
from proctor.suites.goals.config import GoalsCfg
from proctor.suites.goals.evidence import Answers
from proctor.suites.goals.intervals import JACKKNIFE, jackknife
from proctor.suites.goals.left_out import Part, known, left_out, mean_chance, over_tasks, with_others
from proctor.suites.goals.metrics.embeddings import unit_rows
from proctor.suites.goals.metrics.pairwise import (
    mean_pairwise,
    mean_pairwise_without,
    task_variance,
    task_variance_without,
)
from proctor.suites.goals.report.model import Dimension, Reading, absent

DETERMINISTIC = "deterministic"
ALL_THE_SAME = "every draw is the same: the prior does not draw"


def consistency(answers: Answers, cfg: GoalsCfg) -> Dimension:
    """Whether one text gets one goal. n counts different draws. Chance: the cosine between draws for different
    tasks."""
    draws = answers.goals.shape[1]
    if draws < 2:
        why = absent(f"a prior was asked {draws} time for each text; two draws are needed: goals.draws", draws)
        return Dimension("consistency", why, "different draws")
    chance, distinct = with_others(answers.means, answers.means), answers.distinct
    if (distinct == 1).all():
        return _drawn_once(answers, chance)
    values, without = mean_pairwise(answers.units), mean_pairwise_without(answers.units)
    parts = {
        task: Part(float(values[i]), without[i], int(distinct[i]), known(chance[i]))
        for i, task in enumerate(answers.tasks)
    }
    return over_tasks("consistency", "different draws", parts, cfg.level)


def _drawn_once(answers: Answers, chance: np.ndarray) -> Dimension:
    """Of a prior that does not draw: one draw for each text, however often it was asked."""
    by_task = {
        task: Reading(1.0, 1, no_interval=ALL_THE_SAME, chance=known(level))
        for task, level in zip(answers.tasks, chance.tolist(), strict=True)
    }
    levels = [reading.chance for reading in by_task.values()]
    overall = Reading(1.0, len(by_task), no_interval=ALL_THE_SAME, chance=mean_chance(levels))
    return Dimension("consistency", overall, "different draws", band=DETERMINISTIC, by_task=by_task)


def robustness(answers: Answers, cfg: GoalsCfg) -> Dimension:
    """Whether wordings that mean the same get the same goal: the mean over draws, each wording's own. n counts
    wordings. Chance: the cosine between wordings of different tasks."""
    means = {task: _wording_means(answers, task) for task in answers.tasks}
    several = [task for task in answers.tasks if len(means[task]) > 1]
    parts: dict[str, Part | Reading] = {
        task: absent("there is one wording; give paraphrases", len(own)) for task, own in means.items()
    }
    if not several:
        why = "no task has paraphrases; a suite tells them, or goals.instructions does"
        missing = {task: part for task, part in parts.items() if isinstance(part, Reading)}
        return Dimension("robustness", absent(why), "wordings", by_task=missing)
    centres = np.stack([means[task].mean(axis=0) for task in several])
    for task, chance in zip(several, with_others(centres, centres).tolist(), strict=True):
        own = means[task]
        parts[task] = Part(float(mean_pairwise(own)), mean_pairwise_without(own), len(own), known(chance))
    return over_tasks("robustness", "wordings", parts, cfg.level)


def _wording_means(answers: Answers, task: str) -> np.ndarray:
    """The mean direction of every wording's draws, (w, d): the product of two is the mean cosine of their draws."""
    drawn = answers.wordings[task].astype(np.float64)
    return unit_rows(drawn, f"the goals of {answers.name} for wordings of {task}").mean(axis=1)


def discriminability(answers: Answers, cfg: GoalsCfg) -> Dimension:
    """Whether different tasks get different goals. n counts tasks. Of t tasks it is t / (t - 1) at most."""
    means, n = answers.means, len(answers.tasks)
    if n < 2:
        return Dimension("discriminability", absent("there is one task, and nothing to tell it from", n), "tasks")
    most = n / (n - 1)
    part = Part(1 - float(mean_pairwise(means)), 1 - mean_pairwise_without(means), n)
    by_task = {
        task: Reading(max(0.0, 1 - cosine), n - 1, no_interval="against the other tasks as they are")
        for task, cosine in zip(answers.tasks, with_others(means, means).tolist(), strict=True)
    }
    overall = left_out(part.value, [part], cfg.level, (0.0, most))
    return Dimension("discriminability", overall, "tasks", JACKKNIFE, by_task=by_task, most=most)


def variance(answers: Answers, cfg: GoalsCfg) -> Dimension:
    """How far goals spread over tasks. n counts tasks. Of d dimensions it is 1 / d at most."""
    n, most = len(answers.tasks), 1 / answers.goals.shape[-1]
    if n < 2:
        return Dimension("variance", absent("there is one task, and nothing varies", n), "tasks")
    part = Part(task_variance(answers.units), task_variance_without(answers.units), n)
    overall = left_out(part.value, [part], cfg.level, (0.0, most))
    return Dimension("variance", overall, "tasks", JACKKNIFE, most=most)


def preservation_cross_space(answers: Answers, cfg: GoalsCfg) -> Dimension:
    """Discriminability of the goals over that of the texts, each in its own space: a prior cannot separate what its
    text encoder does not."""
    name, n = "preservation_cross_space", len(answers.tasks)
    if answers.texts is None or n < 2:
        return Dimension(name, absent(NO_TEXTS if answers.texts is None else "there is one task"), "tasks")
    units = answers.texts.units
    below = 1 - float(mean_pairwise(units))
    if below < 1e-6:
        return Dimension(name, absent("the text encoder gives one embedding for all tasks", n), "tasks")
    value = max(0.0, 1 - float(mean_pairwise(answers.means))) / below
    with np.errstate(divide="ignore", invalid="ignore"):
        without = (1 - mean_pairwise_without(answers.means)) / (1 - mean_pairwise_without(units))
    spread = jackknife(value, [without], cfg.level, (0.0, math.inf))
    return Dimension(name, Reading(value, n, *spread), "tasks", JACKKNIFE)
