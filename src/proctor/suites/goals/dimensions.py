"""The dimensions of a prior, each by its formula.

With u the directions of goals and v those of success embeddings:

- accuracy: mean over v of a task of u . v, then over tasks;
- retrieval: share of the k nearest v, over all tasks, that are of the goal's own;
- consistency: mean over pairs of draws for one text of u . u';
- robustness: the same over pairs of wordings of one instruction, each wording drawn by itself;
- discriminability: 1 - mean over pairs of tasks of u . u';
- variance: mean over dimensions of the variance of u over tasks.

`metrics.formulas` has them as plain functions of arrays; here they get n, interval, chance level and band.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from proctor.suites.goals.against_visuals import accuracy, gain_cross_space, retrieval
from proctor.suites.goals.among_goals import (
    consistency,
    discriminability,
    preservation_cross_space,
    robustness,
    variance,
)
from proctor.suites.goals.config import BandCfg, GoalsCfg, RangeCfg
from proctor.suites.goals.evidence import Answers, Gallery
from proctor.suites.goals.metrics.retrieval import Nearest
from proctor.suites.goals.report.model import DIMENSIONS, REFERENCES, Dimension

AT_CHANCE = "at chance"


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
    bands = dict(cfg.bands)
    by_name = {own.name: replace(own, band=own.band or band_of(own, bands.get(own.name))) for own in made}
    return {name: by_name[name] for name in (*DIMENSIONS, *REFERENCES)}


def band_of(own: Dimension, band: BandCfg | RangeCfg | None) -> str | None:
    """The word for a value; None without one, without bands, or where no value could have got another word. Whatever
    does not lie above chance is "at chance", however high."""
    value, most = own.overall.value, own.most
    if value is None or band is None:
        return None
    if isinstance(band, RangeCfg):
        if most is not None and most <= band.low:
            return None
        return "low" if value < band.low else "high" if band.high is not None and value > band.high else "normal"
    up = band.excellent >= band.good
    if not up and most is not None and most <= band.good:
        return None
    if not own.overall.above_chance:
        return AT_CHANCE
    if (value >= band.excellent) if up else (value < band.excellent):
        return "excellent"
    return "good" if ((value >= band.good) if up else (value <= band.good)) else "needs work"


def degenerate(dimensions: Mapping[str, Dimension], cfg: GoalsCfg) -> bool | None:
    """Whether the prior answers one goal whatever is asked; None where it cannot be told."""
    apart, spread = (dimensions[name].overall.value for name in ("discriminability", "variance"))
    if apart is None or spread is None:
        return None
    return apart < cfg.bands.discriminability.good and spread < cfg.bands.variance.low
