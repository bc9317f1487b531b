"""What is to be said of compared runs as a whole: who judged their trials, and what they declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from proctor.verdict.protocol import Examined
from proctor.verdict.raters import kept_ratings, summarised


def about_raters(runs: Sequence[Examined], origin: Mapping[str, tuple[int, str]]) -> list[str]:
    """What is to be said of those who judged imported trials, over all runs. `origin`: name of an agent -> (number of
    its run, its name there)."""
    names = {place: name for name, place in origin.items()}
    ratings = []
    for number, run in enumerate(runs):
        with run.run.ledger() as ledger:
            ratings += [replace(each, agent=names[number, each.agent]) for each in kept_ratings(ledger)]
    found = summarised(ratings)
    return [] if found is None else list(found.cautions())


def about_levels(runs: Sequence[Examined], level: float) -> list[str]:
    """Runs that declared another error rate than tests have here."""
    return [
        f"{run.label} declared alpha {run.cfg.declare.alpha:g}, and tests here have the error rate {1 - level:.3g}: a "
        "deviation from its declared protocol."
        for run in runs
        if run.cfg.declare is not None and abs(1 - level - run.cfg.declare.alpha) > 1e-9
    ]


def about_margin(runs: Sequence[Examined], margin: float, on: str, what: str) -> list[str]:
    """Runs that declared another margin, or something else to decide, than `what` goes by: a gate, for instance."""
    said = []
    for run in runs:
        declare = run.cfg.declare
        if declare is None:
            continue
        if declare.margin is not None and abs(declare.margin - margin) > 1e-12:
            said.append(f"{run.label} declared the margin {declare.margin:g}, and the {what} has {margin:g}")
        if declare.primary != on and not (on == "score" and run.cfg.scoring.mode == declare.primary):
            said.append(f"{run.label} declared {declare.primary} as what decides, and the {what} goes by {on}")
    return [f"{each}: a deviation from its declared protocol." for each in said]
