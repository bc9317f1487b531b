"""What is to be read before the numbers of a comparison: the same sentences on every page. And what is to be said of
compared runs as a whole: who judged their trials, and what they declared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from proctor.texts import count
from proctor.verdict.comparison.model import Comparison, Difference, Pair
from proctor.verdict.protocol import Examined
from proctor.verdict.raters import kept_ratings, summarised

SKEWED, FEW_UNITS = 1.0, 50
"""Skewness of differences above which means of fewer units than this are not to be trusted to be normal."""


def cautions_of(found: Comparison) -> tuple[str, ...]:
    """What went into the pairs, what did not, and what makes their numbers doubtful."""
    said = [*_about_trials(found), *_about_pooling(found), *_about_seeds(found), *_about_skewness(found)]
    if found.looked:
        said.append(
            "More trials were run after results had been looked at: p-values for a fixed number of trials no longer "
            "hold. Those shown hold at every look; intervals are those of a fixed number, and too narrow."
        )
    return tuple(said)


def _about_trials(found: Comparison) -> list[str]:
    single = max((pair.n_single for pair in found.pairs), default=0)
    unscored = max((pair.n_unscored for pair in found.pairs), default=0)
    repeats = max((agent.n_repeats for agent in found.agents), default=0)
    reasons = sorted({pair.unpaired_because for pair in found.pairs if pair.unpaired_because})
    said = {
        f"Trials that repeat an episode (up to {repeats:,} of an agent) are left out: their task begins in a few "
        "states only, whatever the seed, and what goes alike every time counts once.": repeats,
        f"Trials that have no partner with the same seed (up to {single:,} of a pair) are left out of tests: where "
        "agents ran different seeds, ranks and tests may disagree.": single,
        f"Unscored trials (up to {unscored:,} of a pair) are left out; bounds say what they could have changed.": (
            unscored
        ),
    }
    return [
        *(text for text, count in said.items() if count),
        *(f"Not paired ({because}): independent trials are compared, which takes more of them." for because in reasons),
    ]


def _about_pooling(found: Comparison) -> list[str]:
    turned = [f"{pair.a} and {pair.b}" for pair in found.pairs if pair.of(found.by).reversed_by_pooling]
    if not turned:
        return []
    return [
        "Counting all trials alike would turn the difference round, because the agents were tried on different mixes "
        f"of tasks (Simpson's paradox): {_listed(turned)}. Here every task counts with its own share."
    ]


def _about_seeds(found: Comparison) -> list[str]:
    """Pairs with so few seeds that no outcome of their trials could have been a finding."""
    alpha = (1 - found.level) / max(1, len(found.pairs))
    fewest = 1 + math.ceil(math.log2(1 / alpha) - 1e-9)
    few = [pair for pair in found.pairs if _flipped(found, pair) and pair.of(found.by).units < fewest]
    if not few:
        return []
    shared = any(pair.of(found.by).units < pair.n_a for pair in few)
    why = "tasks share seeds, and trials of one seed are not independent, so that " if shared else ""
    many = f" in a comparison of {len(found.pairs):,} pairs" if len(found.pairs) > 1 else ""
    return [
        f"Only {count(min(pair.of(found.by).units for pair in few), 'seed')} of a pair: {why}no test can find anything "
        f"with fewer than {fewest}{many}. Raise n_trials."
    ]


def _flipped(found: Comparison, pair: Pair) -> bool:
    """Whether p comes from signs of paired differences: with n of them it is at least 2 / 2^n."""
    return pair.paired and pair.of(found.by).test is not None and not found.looked


def _about_skewness(found: Comparison) -> list[str]:
    def doubtful(own: Difference) -> bool:
        return own.interval is not None and "cohens_h" not in own.effects and skewed(own.skewness, own.units)

    named = [f"{pair.a} − {pair.b}" for pair in found.pairs if doubtful(pair.score)]
    if not named:
        return []
    return [
        f"Scores differ by much on few seeds: {_listed(named)}. With such skewed differences intervals of a mean may "
        "be too narrow; more trials would show."
    ]


def skewed(skewness: float, units: int) -> bool:
    """Whether a mean of so many units may be far from normal."""
    return abs(skewness) > SKEWED and units < FEW_UNITS * skewness**2


def _listed(words: list[str], most: int = 3) -> str:
    return ", ".join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")


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
