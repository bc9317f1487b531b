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

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np

from proctor.stats import Interval, bootstrap, student_t
from proctor.stats.resampling import Resampling
from proctor.suites.goals.config import BandCfg, GoalsCfg, RangeCfg
from proctor.suites.goals.evidence import Answers, Gallery
from proctor.suites.goals.intervals import BOOTSTRAP, JACKKNIFE, Spread, jackknife, stratified
from proctor.suites.goals.metrics.embeddings import Embeddings, same_space, unit_rows
from proctor.suites.goals.metrics.pairwise import (
    mean_pairwise,
    mean_pairwise_without,
    own_cosines,
    task_variance,
    task_variance_without,
)
from proctor.suites.goals.metrics.retrieval import Nearest, nearest, share_of_own
from proctor.suites.goals.report.model import Dimension, Reading, absent

ROUNDING = 1e-12
"""Of a mean of cosines in double precision."""
NO_VISUALS = "there are no success visuals of its tasks; collect some with `proctor goals collect`"


def band_of(value: float | None, band: BandCfg | RangeCfg) -> str | None:
    """The word for a value; None without one."""
    if value is None:
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
    known = [task for task in answers.tasks if task in gallery.rows]
    rows = [gallery.own(task) for task in known]
    offsets = np.cumsum([0, *(r.stop - r.start for r in rows)])
    units = gallery.embeddings.units
    whole = len(units) == offsets[-1] and all(a.stop == b.start for a, b in pairwise(rows))
    visuals = units if whole else np.concatenate([units[r] for r in rows])
    goals = answers.means[[answers.tasks.index(task) for task in known]].astype(units.dtype)
    flat = own_cosines(goals, visuals, offsets).astype(np.float64)
    flat = (flat + 1) / 2 if cfg.accuracy == "shifted" else flat
    return {task: flat[offsets[i] : offsets[i + 1]] for i, task in enumerate(known)}


def accuracy(answers: Answers, gallery: Gallery | None, cfg: GoalsCfg) -> Dimension:
    """How like the pictures of success the goals are. n counts success embeddings."""
    found = {} if gallery is None else cosines_by_task(answers, gallery, cfg)
    if gallery is None or not found:
        return _banded(Dimension("accuracy", absent(NO_VISUALS), "success embeddings", ""), cfg)
    if cfg.accuracy == "mean_embedding":
        return _mean_embedding(answers, gallery, cfg)
    by_task = {task: _mean(found[task], cfg.level) if task in found else absent(NO_VISUALS) for task in answers.tasks}
    value = float(np.mean([values.mean() for values in found.values()]))
    n = sum(map(len, found.values()))
    overall = _reading(value, n, stratified(list(found.values()), cfg.level, cfg.seed))
    return _banded(Dimension("accuracy", overall, "success embeddings", BOOTSTRAP, by_task=by_task), cfg)


def _mean(values: np.ndarray, level: float) -> Reading:
    interval = student_t(values, level)
    kept = interval if interval is not None and interval.width > 1e-12 else None
    why = None if kept else ("a single success" if len(values) < 2 else "all values are equal")
    return Reading(float(values.mean()), len(values), kept, None, why)


def _mean_embedding(answers: Answers, gallery: Gallery, cfg: GoalsCfg) -> Dimension:
    units = gallery.embeddings.units
    parts = {
        task: _to_mean(goal.astype(np.float64), units[gallery.own(task)].astype(np.float64))
        if task in gallery.rows
        else absent(NO_VISUALS)
        for task, goal in zip(answers.tasks, answers.means, strict=True)
    }
    return _jackknifed("accuracy", "success embeddings", parts, cfg)


Part = tuple[float, np.ndarray, int]
"""The value of a task, its values with each unit left out in turn, and the number of units."""


def _jackknifed(name: str, counted: str, parts: Mapping[str, Part | Reading], cfg: GoalsCfg) -> Dimension:
    """The mean over tasks, with an interval from within them. A Reading in the place of a part says why there is
    none; one task at least has a part."""
    known = [part for part in parts.values() if not isinstance(part, Reading)]
    by_task = {
        task: part
        if isinstance(part, Reading)
        else _reading(part[0], part[2], jackknife(part[0], [part[1]], cfg.level))
        for task, part in parts.items()
    }
    value = float(np.mean([own for own, _, _ in known]))
    spread = jackknife(value, [without for _, without, _ in known], cfg.level)
    overall = _reading(value, sum(n for _, _, n in known), spread)
    return _banded(Dimension(name, overall, counted, JACKKNIFE, by_task=by_task), cfg)


def _to_mean(goal: np.ndarray, own: np.ndarray) -> Part:
    """The cosine of a goal with the mean of `own` (n, d), and with each row left out in turn."""
    total = own.sum(axis=0)
    without = unit_rows(total - own, "a mean visual") @ goal if len(own) > 1 else np.empty(0)
    return float(goal @ unit_rows(total, "a mean success visual")), without, len(own)


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
    name, method = "retrieval", "BCa bootstrap over tasks"
    if gallery is None or found is None:
        size = 0 if gallery is None else len(gallery.embeddings)
        why = NO_VISUALS if gallery is None else f"k is {cfg.k}, and there are only {size} success embeddings"
        return _banded(Dimension(name, absent(why), "tasks", ""), cfg)
    draws = answers.goals.shape[1]
    group = np.repeat([gallery.tasks.index(task) for task in answers.tasks], draws)
    shares = share_of_own(found, group, gallery.task_of_row).reshape(-1, draws).mean(axis=1)
    by_task = {
        task: Reading(float(share), draws * cfg.k, no_interval="a share of so few is shown by itself")
        if task in gallery.rows
        else absent(NO_VISUALS)
        for task, share in zip(answers.tasks, shares, strict=True)
    }
    values = np.array([r.value for r in by_task.values() if r.value is not None])
    if not len(values):
        return _banded(Dimension(name, absent(NO_VISUALS), "tasks", "", by_task=by_task), cfg)
    made = bootstrap([values], level=cfg.level, resampling=Resampling(seed=cfg.seed))
    spread = made.interval, None if made.reason is None else made.reason.value
    overall = _reading(float(values.mean()), len(values), spread)
    return _banded(Dimension(name, overall, "tasks", method, by_task=by_task), cfg)


# Of the goals alone ---------------------------------------------------------------------------------------------------


def consistency(answers: Answers, cfg: GoalsCfg) -> Dimension:
    """Whether one text gets one goal. n counts draws."""
    draws = answers.goals.shape[1]
    if draws < 2:
        why = absent(f"a prior was asked {draws} time for each text; two draws are needed: goals.draws", draws)
        return _banded(Dimension("consistency", why, "draws", ""), cfg)
    found = zip(answers.tasks, mean_pairwise(answers.units), mean_pairwise_without(answers.units), strict=True)
    return _jackknifed("consistency", "draws", {task: (float(v), rest, draws) for task, v, rest in found}, cfg)


def robustness(answers: Answers, cfg: GoalsCfg) -> Dimension:
    """Whether wordings that mean the same get the same goal. n counts wordings."""
    parts: dict[str, Part | Reading] = {}
    for task in answers.tasks:
        own = unit_rows(
            answers.wordings[task].astype(np.float64), f"the goals of {answers.name} for wordings of {task}"
        )
        if len(own) < 2:
            parts[task] = absent("there is one wording; give paraphrases", len(own))
        else:
            parts[task] = float(mean_pairwise(own)), mean_pairwise_without(own), len(own)
    missing = {task: part for task, part in parts.items() if isinstance(part, Reading)}
    if len(missing) == len(parts):
        why = "no task has paraphrases; a suite tells them, or goals.instructions does"
        return _banded(Dimension("robustness", absent(why), "wordings", "", by_task=missing), cfg)
    return _jackknifed("robustness", "wordings", parts, cfg)


def discriminability(answers: Answers, cfg: GoalsCfg) -> Dimension:
    """Whether different tasks get different goals. n counts tasks."""
    means, n = answers.means, len(answers.tasks)
    if n < 2:
        one = absent("there is one task, and nothing to tell it from", n)
        return _banded(Dimension("discriminability", one, "tasks", JACKKNIFE, by_task={}), cfg)
    value = 1 - float(mean_pairwise(means))
    value = value if abs(value) > ROUNDING else 0.0
    overall = _reading(value, n, jackknife(value, [1 - mean_pairwise_without(means)], cfg.level))
    mean_to_others = (means @ means.sum(axis=0) - (means**2).sum(axis=1)) / (n - 1)
    by_task = {
        task: Reading(1 - float(cosine), n - 1, no_interval="against the other tasks as they are")
        for task, cosine in zip(answers.tasks, mean_to_others, strict=True)
    }
    return _banded(Dimension("discriminability", overall, "tasks", JACKKNIFE, by_task=by_task), cfg)


def variance(answers: Answers, cfg: GoalsCfg) -> Dimension:
    """How far goals spread over tasks. n counts tasks. 1 / d is the most there can be, and never called high."""
    if len(answers.tasks) < 2:
        one = absent("there is one task, and nothing varies", len(answers.tasks))
        return _banded(Dimension("variance", one, "tasks", ""), cfg)
    value = task_variance(answers.units)
    spread = jackknife(value, [task_variance_without(answers.units)], cfg.level)
    found = _banded(Dimension("variance", _reading(value, len(answers.tasks), spread), "tasks", JACKKNIFE), cfg)
    crowded = found.band == "high" and 1 / answers.goals.shape[-1] > cfg.bands.variance.high
    return replace(found, band="normal") if crowded else found


def degenerate(dimensions: dict[str, Dimension], cfg: GoalsCfg) -> bool | None:
    """Whether the prior answers one goal whatever is asked; None where it cannot be told."""
    apart, spread = (dimensions[name].overall.value for name in ("discriminability", "variance"))
    if apart is None or spread is None:
        return None
    return apart < cfg.bands.discriminability.good and spread < cfg.bands.variance.low


# Between spaces, for reference ----------------------------------------------------------------------------------------


def gain_cross_space(answers: Answers, gallery: Gallery | None, cfg: GoalsCfg) -> Dimension:
    """Accuracy of the prior minus that of the bare text embedding. The latter compares two spaces."""
    name = "gain_cross_space"
    texts, why = answers.texts, None
    if texts is None:
        why = "the model has no text encoder"
    elif gallery is None:
        why = NO_VISUALS
    elif texts.dim != gallery.embeddings.dim:
        why = f"texts have {texts.dim} dimensions and success visuals {gallery.embeddings.dim}"
    if why is not None or texts is None or gallery is None:
        return Dimension(name, absent(why or ""), "success embeddings", "")
    claimed = Embeddings(texts.vectors, gallery.embeddings.space)
    bare = Answers("text", "", claimed.space, answers.tasks, claimed.vectors[:, None], {})
    ours, theirs = cosines_by_task(answers, gallery, cfg), cosines_by_task(bare, gallery, cfg)
    apart = [ours[task] - theirs[task] for task in ours]
    if not apart:
        return Dimension(name, absent(NO_VISUALS), "success embeddings", "")
    value = float(np.mean([values.mean() for values in apart]))
    reading = _reading(value, sum(map(len, apart)), stratified(apart, cfg.level, cfg.seed))
    return Dimension(name, reading, "success embeddings", BOOTSTRAP)


def preservation_cross_space(answers: Answers, cfg: GoalsCfg) -> Dimension:
    """Discriminability of the goals over that of the texts, each in its own space: a prior cannot separate what its
    text encoder does not."""
    name, n = "preservation_cross_space", len(answers.tasks)
    if answers.texts is None or n < 2:
        why = "the model has no text encoder" if answers.texts is None else "there is one task"
        return Dimension(name, absent(why), "tasks", "")
    units = answers.texts.units
    below = 1 - float(mean_pairwise(units))
    if below < 1e-6:
        return Dimension(name, absent("the text encoder gives one embedding for all tasks", n), "tasks", "")
    value = (1 - float(mean_pairwise(answers.means))) / below
    with np.errstate(divide="ignore", invalid="ignore"):
        without = (1 - mean_pairwise_without(answers.means)) / (1 - mean_pairwise_without(units))
    return Dimension(name, _reading(value, n, jackknife(value, [without], cfg.level)), "tasks", JACKKNIFE)


# Words ----------------------------------------------------------------------------------------------------------------


def _reading(value: float, n: int, spread: Spread) -> Reading:
    interval, why = spread
    return Reading(value, n, None if interval is None else Interval(*interval), None, why)


def _banded(dimension: Dimension, cfg: GoalsCfg) -> Dimension:
    band = band_of(dimension.overall.value, getattr(cfg.bands, dimension.name))
    return replace(dimension, band=band, method=dimension.method if dimension.overall.interval else "")


Compute = Callable[[Answers, GoalsCfg], Dimension]
ALONE: tuple[Compute, ...] = (consistency, discriminability, robustness, variance)
"""Dimensions that need no success visuals."""
