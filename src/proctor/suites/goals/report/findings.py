"""What a goal evaluation means, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from proctor.report import text
from proctor.report.model import Finding
from proctor.suites.goals.report.model import Dimension, GoalsReport, PriorReport, Reading

PRESERVED, TOLD_APART = 0.8, 0.02
"""Shares of the text's discriminability from which on nothing is said, and differences of accuracy."""


def number_words(reading: Reading, points: bool = False) -> str:
    """`0.83 (0.80 to 0.86)`, as far as it is known; in points of success where asked for."""
    if reading.value is None:
        return "not available"
    scale = 100 if points else 1
    unit = " points" if points else ""
    value = text.number(scale * reading.value) if not points else f"{scale * reading.value:.0f}"
    if reading.interval is None:
        return f"{value}{unit}".replace("-", "−")
    low, high = (scale * end for end in reading.interval)
    ends = (f"{low:.0f} to {high:.0f}") if points else f"{text.number(low)} to {text.number(high)}"
    return f"{value}{unit} ({ends})".replace("-", "−")


def signed(value: float) -> str:
    """A number with a minus that looks like one."""
    return text.number(value).replace("-", "−")


def verdict(report: GoalsReport) -> str:
    """One sentence on who imagines success best."""
    known = [prior for prior in report.ranked() if prior.dimensions["accuracy"].overall.value is not None]
    if not known:
        return "Whether goals look like success cannot be said: there are no success visuals."
    best = known[0]
    words = number_words(best.dimensions["accuracy"].overall)
    if len(known) == 1:
        return f"{best.name}: goal accuracy {words}, {best.dimensions['accuracy'].band}."
    rest = f"{known[-1].name} least, {number_words(known[-1].dimensions['accuracy'].overall)}"
    return f"Goals of {best.name} look most like success: accuracy {words}; those of {rest}."


def findings(report: GoalsReport) -> list[Finding]:
    """Cautions first, then notes, prior by prior."""
    found = [Finding("caution", caution) for caution in report.cautions]
    for prior in report.ranked():
        found += [*_faults(prior), *_notes(prior)]
    return sorted(found, key=lambda finding: finding.level != "caution")


def _faults(prior: PriorReport) -> Iterator[Finding]:
    own = prior.dimensions
    if prior.degenerate:
        yield Finding(
            "caution",
            f"{prior.name} is degenerate: it answers nearly one goal for every task (discriminability "
            f"{number_words(own['discriminability'].overall)}, variance {number_words(own['variance'].overall)}).",
        )
    if len(prior.own) and len(prior.other) and not prior.degenerate:
        same, others = float(np.mean(prior.own)), float(np.mean(prior.other))
        apart = own["discriminability"].band in ("excellent", "good")
        if same <= others and apart:
            yield Finding(
                "caution",
                f"{prior.name} tells tasks apart, but its goals are no nearer to the pictures of their own task (mean "
                f"cosine {signed(same)}) than to those of others ({signed(others)}): tasks may be mixed up. "
                "Look at the nearest pictures.",
            )
    for task, reason in prior.missing.items():
        yield Finding("caution", f"{prior.name} has no goal for {task}: {reason}")


def _notes(prior: PriorReport) -> Iterator[Finding]:
    own = prior.dimensions
    if (words := _gap_words(prior.name, own["quality_gap"])) is not None:
        yield words
    if own["accuracy"].band == "needs work" and not prior.degenerate:
        yield Finding(
            "note",
            f"{prior.name}: accuracy is {number_words(own['accuracy'].overall)}: its goals do not look like success. "
            "Train the prior on pairs of instructions and success pictures of these tasks.",
        )
    yield from _extremes(prior)
    if own["consistency"].band == "needs work":
        yield Finding(
            "note",
            f"{prior.name}: two draws for one text have a cosine of {number_words(own['consistency'].overall)}; draw "
            "with less noise, or take the mean.",
        )
    if own["robustness"].band == "needs work":
        yield Finding(
            "note",
            f"{prior.name}: other words for one task move the goal (cosine {number_words(own['robustness'].overall)}); "
            "add paraphrases to what the prior is trained on.",
        )
    yield from _references(prior)


def _gap_words(name: str, gap: Dimension) -> Finding | None:
    reading = gap.overall
    if reading.value is None:
        return None
    words = number_words(reading, points=True)
    if reading.interval is not None and reading.interval.low <= 0:
        return Finding("note", f"{name}: no cost of success can be shown; the gap to visual goals is {words}.")
    if gap.band == "needs work":
        return Finding("note", f"{name} is the bottleneck: it costs the policy {words} of success.")
    much = "little" if gap.band == "excellent" else "some success"
    return Finding("note", f"{name} costs the policy {much}: the gap to visual goals is {words}.")


def _extremes(prior: PriorReport) -> Iterator[Finding]:
    best, worst = extremes(prior, 1)
    if best and worst and best[0][1] - worst[0][1] > TOLD_APART:
        (a, x), (b, y) = best[0], worst[0]
        yield Finding("note", f"{prior.name} imagines {a} best (accuracy {signed(x)}) and {b} worst ({signed(y)}).")


def extremes(prior: PriorReport, most: int) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """The tasks of highest and of lowest accuracy, at most so many of each, none in both."""
    known = [(task, r.value) for task, r in prior.dimensions["accuracy"].by_task.items() if r.value is not None]
    ordered = sorted(known, key=lambda pair: -pair[1])
    half = max(1, len(ordered) // 2)
    return ordered[: min(most, half)], ordered[half:][::-1][:most]


def _references(prior: PriorReport) -> Iterator[Finding]:
    kept = prior.references["preservation_cross_space"].overall
    if kept.value is not None and kept.value < PRESERVED and not prior.degenerate:
        yield Finding(
            "note",
            f"{prior.name} keeps {text.percent(kept.value)} of how far the text encoder tells tasks apart: what is "
            "lost is lost in the prior.",
        )
