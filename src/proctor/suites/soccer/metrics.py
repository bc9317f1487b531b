"""What an environment that pays at the end of an episode said on its last step.

A signal `term/NAME` holds the raw value of one reward term after each step. Its last value is kept with the trial as
the metric of the same name, so that a terminal scoring needs nothing but the ledger. `evaluation_reward` is what a
user's own evaluation function paid at each step; its last value is kept likewise.
"""

from __future__ import annotations

from typing import ClassVar

from proctor.metrics.protocol import MetricFamily, MetricInfo
from proctor.metrics.series import last_value
from proctor_host.episode import Episode

PREFIX = "term/"
PAID = "evaluation_reward"


class LastTerms(MetricFamily):
    """The last value of every reward term, and of what an evaluation function paid."""

    name: ClassVar[str] = "terms"

    def values(self, episode: Episode) -> dict[str, float | None]:
        """By the name of the signal, in order of the names; None for NaN, for what is no single number per step, and
        without steps."""
        names = sorted(name for name in episode.arrays if name.startswith(PREFIX) or name == PAID)
        return {name: last_value(episode, name) for name in names}

    def describe(self, name: str) -> MetricInfo | None:
        if name == PAID:
            doc = "What the task's evaluation function paid on the last step."
            return MetricInfo(name, "reward", "up", "mean", doc)
        term = term_of(name)
        return None if term is None else MetricInfo(name, "1", "none", "mean", f"The raw term {term} on the last step.")


def term_of(metric: str) -> str | None:
    """The term that a metric is the last value of; None for any other metric."""
    return metric.removeprefix(PREFIX) if metric.startswith(PREFIX) else None
