"""The dimensions of a prior, each by its formula.

With u the directions of goals and v those of success embeddings:

- accuracy: mean over v of a task of u . v, then over tasks;
- retrieval: share of the k nearest v, over all tasks, that are of the goal's own;
- consistency: mean over pairs of draws for one text of u . u';
- robustness: the same over pairs of wordings of one instruction;
- discriminability: 1 - mean over pairs of tasks of u . u';
- variance: mean over dimensions of the variance of u over tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from proctor.stats import student_t
from proctor.suites.goals.config import BandCfg, GoalsCfg, RangeCfg
from proctor.suites.goals.evidence import Answers, Gallery
from proctor.suites.goals.intervals import BOOTSTRAP, JACKKNIFE, jackknife, stratified
from proctor.suites.goals.metrics.embeddings import same_space, unit_rows
from proctor.suites.goals.metrics.pairwise import (
    mean_pairwise,
    mean_pairwise_without,
    own_cosines,
    task_variance,
    task_variance_without,
)
from proctor.suites.goals.metrics.retrieval import Nearest, nearest, share_of_own
from proctor.suites.goals.report.model import DIMENSIONS, REFERENCES, Dimension, Reading, absent

ROUNDING = 1e-12
"""Of a mean of cosines in double precision."""
NO_VISUALS = "there are no success visuals of its tasks; collect some with `proctor goals collect`"
NO_TEXTS = "the model has no text encoder"
EMBEDDINGS = "success embeddings"


def dimensions_of(
    answers: Answers, gallery: Gallery | None, found: Nearest | None, gap: Dimension, cfg: GoalsCfg
) -> dict[str, Dimension]:
    """All dimensions and references of a prior by name, with their bands. `found`: the nearest success visuals of
    every draw (`neighbours`); `gap`: what the ablation says."""
    made = (
        gap,
        accuracy(answers, gallery, cfg),
        retrieval(answers, gallery, found, cfg),
        *(compute(answers, cfg) for compute in (consistency, discriminability, robustness, variance)),
        gain_cross_space(answers, gallery, cfg),
        preservation_cross_space(answers, cfg),
    )
    high = max(cfg.bands.variance.high, 1 / answers.goals.shape[-1])
    bands = {**dict(cfg.bands), "variance": RangeCfg(low=cfg.bands.variance.low, high=high)}
    by_name = {own.name: replace(own, band=band_of(own.overall.value, bands.get(own.name))) for own in made}
    return {name: by_name[name] for name in (*DIMENSIONS, *REFERENCES)}


def band_of(value: float | None, band: BandCfg | RangeCfg | None) -> str | None:
    """The word for a value; None without one, or without bands."""
    if value is None or band is None:
        return None
    if isinstance(band, RangeCfg):
        return "low" if value < band.low else "high" if value > band.high else "normal"
    up = band.excellent >= band.good
    if (value >= band.excellent) if up else (value < band.excellent):
        return "excellent"
    return "good" if ((value >= band.good) if up else (value <= band.good)) else "needs work"


# Against success visuals ----------------------------------------------------------------------------------------------


def cosines_by_task(answers: Answers, gallery: Gallery, cfg: GoalsCfg) -> dict[str, np.ndarray]:
    """By task the cosines (n,) of its success embeddings with its goals, mean over draws; shifted where asked for.
    Tasks without visuals are left out. Raises SpaceMismatch where the two are of different spaces."""
    same_space(answers.embeddings, gallery.embeddings, f"goal accuracy of {answers.name}")
    units = gallery.embeddings.units
    goals = np.zeros((len(gallery.tasks), units.shape[1]), units.dtype)
    goals[gallery.places(answers.tasks)] = answers.means
    flat = own_cosines(goals, units, gallery.offsets).astype(np.float64)
    flat = (flat + 1) / 2 if cfg.accuracy == "shifted" else flat
    return {task: flat[gallery.own(task)] for task in answers.tasks if task in gallery.rows}


def accuracy(answers: Answers, gallery: Gallery | None, cfg: GoalsCfg) -> Dimension:
    """How like the pictures of success the goals are. n counts success embeddings."""
    found = {} if gallery is None else cosines_by_task(answers, gallery, cfg)
    if gallery is None or not found:
        return Dimension("accuracy", absent(NO_VISUALS), EMBEDDINGS)
    if cfg.accuracy == "mean_embedding":
        return _mean_embedding(answers, gallery, cfg)
    by_task = {task: _mean(found[task], cfg.level) if task in found else absent(NO_VISUALS) for task in answers.tasks}
    return Dimension("accuracy", _mean_over_tasks([*found.values()], cfg), EMBEDDINGS, BOOTSTRAP, by_task=by_task)


def _mean_over_tasks(tasks: Sequence[np.ndarray], cfg: GoalsCfg) -> Reading:
    """The mean of the tasks' means, with an interval from within them."""
    value = float(np.mean([values.mean() for values in tasks]))
    return Reading(value, sum(map(len, tasks)), *stratified(tasks, cfg.level, cfg.seed))


def _mean(values: np.ndarray, level: float) -> Reading:
    interval = student_t(values, level)
    kept = interval if interval is not None and interval.width > 1e-12 else None
    why = None if kept else ("a single success" if len(values) < 2 else "all values are equal")
    return Reading(float(values.mean()), len(values), kept, why)


def _mean_embedding(answers: Answers, gallery: Gallery, cfg: GoalsCfg) -> Dimension:
    units = gallery.embeddings.units
    parts = {
        task: _to_mean(goal.astype(np.float64), units[gallery.own(task)].astype(np.float64))
        if task in gallery.rows
        else absent(NO_VISUALS)
        for task, goal in zip(answers.tasks, answers.means, strict=True)
    }
    return _jackknifed("accuracy", EMBEDDINGS, parts, cfg)


class Part(NamedTuple):
    """The value of a task, its values with each unit left out in turn, and the number of units."""

    value: float
    without: np.ndarray
    n: int


def _jackknifed(name: str, counted: str, parts: Mapping[str, Part | Reading], cfg: GoalsCfg) -> Dimension:
    """The mean over tasks, with an interval from within them. A Reading in the place of a part says why there is
    none; one task at least has a part."""
    known = [part for part in parts.values() if not isinstance(part, Reading)]
    by_task = {
        task: part if isinstance(part, Reading) else _left_out(part.value, [part], cfg) for task, part in parts.items()
    }
    overall = _left_out(float(np.mean([part.value for part in known])), known, cfg)
    return Dimension(name, overall, counted, JACKKNIFE, by_task=by_task)


def _left_out(value: float, parts: Sequence[Part], cfg: GoalsCfg) -> Reading:
    spread = jackknife(value, [part.without for part in parts], cfg.level)
    return Reading(value, sum(part.n for part in parts), *spread)


def _to_mean(goal: np.ndarray, own: np.ndarray) -> Part:
    """The cosine of a goal with the mean of `own` (n, d), and with each row left out in turn."""
    total = own.sum(axis=0)
    without = unit_rows(total - own, "a mean visual") @ goal if len(own) > 1 else np.empty(0)
    return Part(float(goal @ unit_rows(total, "a mean success visual")), without, len(own))


def neighbours(answers: Answers, gallery: Gallery, k: int) -> Nearest:
    """The k nearest success visuals of every draw of every task, (t * s, k). Draws that are all alike are looked up
    once."""
    same_space(answers.embeddings, gallery.embeddings, f"retrieval by {answers.name}")
    visuals, draws = gallery.embeddings.units, answers.units.shape[1]
    if (answers.units == answers.units[:, :1]).all():
        once = nearest(answers.units[:, 0].astype(visuals.dtype), visuals, k)
        return Nearest(np.repeat(once.index, draws, axis=0), np.repeat(once.cosine, draws, axis=0))
    return nearest(answers.units.reshape(-1, visuals.shape[1]).astype(visuals.dtype), visuals, k)


def retrieval(answers: Answers, gallery: Gallery | None, found: Nearest | None, cfg: GoalsCfg) -> Dimension:
    """Whether the nearest pictures are of the task. n counts tasks."""
    if gallery is None:
        return Dimension("retrieval", absent(NO_VISUALS), "tasks")
    if found is None:
        why = f"k is {cfg.k}, and there are only {len(gallery.embeddings)} success embeddings"
        return Dimension("retrieval", absent(why), "tasks")
    draws = answers.goals.shape[1]
    group = np.repeat(gallery.places(answers.tasks), draws)
    shares = share_of_own(found, group, gallery.task_of_row).reshape(-1, draws).mean(axis=1)
    by_task = {
        task: Reading(float(share), draws * cfg.k, no_interval="a share of so few is shown by itself")
        if task in gallery.rows
        else absent(NO_VISUALS)
        for task, share in zip(answers.tasks, shares, strict=True)
    }
    values = np.array([r.value for r in by_task.values() if r.value is not None])
    if not len(values):
        return Dimension("retrieval", absent(NO_VISUALS), "tasks", by_task=by_task)
    overall = _mean_over_tasks([values], cfg)
    return Dimension("retrieval", overall, "tasks", "BCa bootstrap over tasks", by_task=by_task)


# Of the goals alone ---------------------------------------------------------------------------------------------------


def consistency(answers: Answers, cfg: GoalsCfg) -> Dimension:
    """Whether one text gets one goal. n counts draws."""
    draws = answers.goals.shape[1]
    if draws < 2:
        why = absent(f"a prior was asked {draws} time for each text; two draws are needed: goals.draws", draws)
        return Dimension("consistency", why, "draws")
    found = zip(answers.tasks, mean_pairwise(answers.units), mean_pairwise_without(answers.units), strict=True)
    return _jackknifed("consistency", "draws", {task: Part(float(v), rest, draws) for task, v, rest in found}, cfg)


def robustness(answers: Answers, cfg: GoalsCfg) -> Dimension:
    """Whether wordings that mean the same get the same goal. n counts wordings."""
    parts: dict[str, Part | Reading] = {}
    missing: dict[str, Reading] = {}
    for task in answers.tasks:
        wordings = answers.wordings[task].astype(np.float64)
        own = unit_rows(wordings, f"the goals of {answers.name} for wordings of {task}")
        if len(own) < 2:
            parts[task] = missing[task] = absent("there is one wording; give paraphrases", len(own))
        else:
            parts[task] = Part(float(mean_pairwise(own)), mean_pairwise_without(own), len(own))
    if len(missing) == len(parts):
        why = "no task has paraphrases; a suite tells them, or goals.instructions does"
        return Dimension("robustness", absent(why), "wordings", by_task=missing)
    return _jackknifed("robustness", "wordings", parts, cfg)


def discriminability(answers: Answers, cfg: GoalsCfg) -> Dimension:
    """Whether different tasks get different goals. n counts tasks."""
    means, n = answers.means, len(answers.tasks)
    if n < 2:
        return Dimension("discriminability", absent("there is one task, and nothing to tell it from", n), "tasks")
    value = 1 - float(mean_pairwise(means))
    value = value if abs(value) > ROUNDING else 0.0
    overall = Reading(value, n, *jackknife(value, [1 - mean_pairwise_without(means)], cfg.level))
    mean_to_others = (means @ means.sum(axis=0) - (means**2).sum(axis=1)) / (n - 1)
    by_task = {
        task: Reading(1 - float(cosine), n - 1, no_interval="against the other tasks as they are")
        for task, cosine in zip(answers.tasks, mean_to_others, strict=True)
    }
    return Dimension("discriminability", overall, "tasks", JACKKNIFE, by_task=by_task)


def variance(answers: Answers, cfg: GoalsCfg) -> Dimension:
    """How far goals spread over tasks. n counts tasks. 1 / d is the most there can be, and never called high."""
    n = len(answers.tasks)
    if n < 2:
        return Dimension("variance", absent("there is one task, and nothing varies", n), "tasks")
    value = task_variance(answers.units)
    spread = jackknife(value, [task_variance_without(answers.units)], cfg.level)
    return Dimension("variance", Reading(value, n, *spread), "tasks", JACKKNIFE)


def degenerate(dimensions: Mapping[str, Dimension], cfg: GoalsCfg) -> bool | None:
    """Whether the prior answers one goal whatever is asked; None where it cannot be told."""
    apart, spread = (dimensions[name].overall.value for name in ("discriminability", "variance"))
    if apart is None or spread is None:
        return None
    return apart < cfg.bands.discriminability.good and spread < cfg.bands.variance.low


# Between spaces, for reference ----------------------------------------------------------------------------------------


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
    value = (1 - float(mean_pairwise(answers.means))) / below
    with np.errstate(divide="ignore", invalid="ignore"):
        without = (1 - mean_pairwise_without(answers.means)) / (1 - mean_pairwise_without(units))
    return Dimension(name, Reading(value, n, *jackknife(value, [without], cfg.level)), "tasks", JACKKNIFE)
