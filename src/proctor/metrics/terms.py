"""What an environment that pays at the end of an episode said on its last step.

A signal `term/NAME` holds the raw value of one reward term after each step. Its last value is kept with the trial as
the metric of the same name, so that a terminal scoring needs nothing but the ledger. `evaluation_reward` is what a
user's own evaluation function paid at each step; its last value is kept likewise.
"""

from __future__ import annotations

from proctor.metrics.series import last_value
from proctor.record.episode import Episode

PREFIX = "term/"
PAID = "evaluation_reward"


def last_terms(episode: Episode) -> dict[str, float | None]:
    """The last value of every term and of `evaluation_reward`, by the name of the signal, in order of the names; None
    for NaN, for what is no single number per step, and without steps."""
    names = sorted(name for name in episode.arrays if name.startswith(PREFIX) or name == PAID)
    return {name: last_value(episode, name) for name in names}


def term_of(metric: str) -> str | None:
    """The term that a metric is the last value of; None for any other metric."""
    return metric.removeprefix(PREFIX) if metric.startswith(PREFIX) else None
