"""What a goal evaluation means, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from proctor.report import text
from proctor.report.model import Finding
from proctor.suites.goals.report.model import Dimension, GoalsReport, PriorReport, Reading

PRESERVED, TOLD_APART = 0.8, 0.02
"""Shares of the text's discriminability from which on nothing is said, and differences of accuracy."""


def number_words(own: Dimension) -> str:
    """`0.83 (0.80 to 0.86)`, as far as it is known; the quality gap in points of success."""
    if own.overall.value is None:
        return "not available"
    gap, known = own.name == "quality_gap", (own.overall.value, *(own.overall.interval or ()))
    value, *ends = (text.percent(x).removesuffix(" %") if gap else text.number(x) for x in known)
    words = f"{value} points" if gap else value
    return f"{words} ({' to '.join(ends)})" if ends else words


def chance_words(reading: Reading) -> str:
    """`chance 0.1`; empty where there is no chance level."""
    return "" if reading.chance is None else f"chance {text.number(reading.chance)}"


def verdict(report: GoalsReport) -> str:
    """One sentence on which model imagines success best; the ground truth is what they are measured against."""
    known = [prior for prior in report.ranked() if prior.dimensions["accuracy"].overall.value is not None]
    if not known:
        return "Whether goals look like success cannot be said: there are no success visuals."
    models = [prior for prior in known if not prior.is_truth]
    imagined = [prior for prior in models if not prior.answers.is_the_text]
    if models and not imagined:
        return (
            "No model imagines anything: all goals are merely embeddings of their texts, and how like pictures those "
            "are is a number across two spaces."
        )
    models = imagined
    truth = next((f" The ground truth has {_accuracy(prior)}." for prior in known if prior.is_truth), "")
    if not models:
        return f"No model was evaluated beside the ground truth, which has {_accuracy(known[0])}."
    best = models[0]
    overall, band = best.dimensions["accuracy"].overall, best.dimensions["accuracy"].band
    level = f" ({chance_words(overall)})" if overall.chance is not None else ""
    if not overall.above_chance:
        whose = "No model's goals look" if len(models) > 1 else f"Goals of {best.name} do not look"
        name = f"{best.name} has " if len(models) > 1 else ""
        return f"{whose} like success more than by chance: accuracy {name}{_accuracy(best)}{level}.{truth}"
    if len(models) == 1:
        return f"{best.name}: goal accuracy {_accuracy(best)}{level}, {band}.{truth}"
    rest = f"{models[-1].name} least, {_accuracy(models[-1])}"
    return f"Goals of {best.name} look most like success: accuracy {_accuracy(best)}{level}; those of {rest}.{truth}"


def _accuracy(prior: PriorReport) -> str:
    return number_words(prior.dimensions["accuracy"])


def findings(report: GoalsReport) -> list[Finding]:
    """Cautions first, then notes, prior by prior."""
    priors = report.ranked()
    cautions = [*report.cautions, *(said for prior in priors for said in _faults(prior))]
    notes = [said for prior in priors for said in _notes(prior)]
    return [*(Finding("caution", said) for said in cautions), *(Finding("note", said) for said in notes)]


def _faults(prior: PriorReport) -> Iterator[str]:
    own = prior.dimensions
    if prior.answers.is_the_text:
        yield (
            f"{prior.name} answers with the embedding of the text itself: its goals are not of the space of pictures, "
            "so accuracy and retrieval put two spaces side by side and decide nothing. Give goals that went through "
            "a prior, or leave it out."
        )
    if prior.degenerate and prior.is_truth:
        yield (
            f"To the encoder the success visuals of all tasks look alike ({prior.name}: discriminability "
            f"{number_words(own['discriminability'])}): no prior can be told from another by them. Use another "
            "encoder, or tasks whose success looks different."
        )
    elif prior.degenerate:
        yield (
            f"{prior.name} is degenerate: it answers nearly one goal for every task (discriminability "
            f"{number_words(own['discriminability'])}, variance {number_words(own['variance'])})."
        )
    elif len(prior.own) and len(prior.other) and own["discriminability"].band in ("excellent", "good"):
        same, others = float(np.mean(prior.own)), float(np.mean(prior.other))
        if same <= others:
            yield (
                f"{prior.name} tells tasks apart, but its goals are no nearer to the pictures of their own task (mean "
                f"cosine {text.number(same)}) than to those of others ({text.number(others)}): tasks may be mixed up. "
                "Look at the nearest pictures."
            )
    yield from (f"{prior.name} has no goal for {task}: {reason}" for task, reason in prior.answers.missing.items())


def _notes(prior: PriorReport) -> Iterator[str]:
    own, name = prior.dimensions, prior.name
    weak = {key: number_words(own[key]) for key in own if own[key].band == "needs work"}
    if own["quality_gap"].overall.value is not None:
        yield _gap_words(name, own["quality_gap"])
    if "accuracy" in weak and not prior.degenerate:
        yield (
            f"{name}: accuracy is {weak['accuracy']}: its goals do not look like success. "
            "Train the prior on pairs of instructions and success pictures of these tasks."
        )
    best, worst = extremes(prior, 1)
    if best and worst and best[0][1] - worst[0][1] > TOLD_APART:
        (a, x), (b, y) = best[0], worst[0]
        yield f"{name} imagines {a} best (accuracy {text.number(x)}) and {b} worst ({text.number(y)})."
    for key in ("retrieval", "consistency", "robustness"):
        if own[key].band == "at chance" and not prior.degenerate:
            words = chance_words(own[key].overall)
            yield f"{name}: {key} {number_words(own[key])} is no better than by {words}: it says nothing of the texts."
    if "consistency" in weak:
        cosine = weak["consistency"]
        yield f"{name}: two draws for one text have a cosine of {cosine}; draw with less noise, or take the mean."
    if "robustness" in weak:
        yield (
            f"{name}: other words for one task move the goal (cosine {weak['robustness']}); "
            "add paraphrases to what the prior is trained on."
        )
    kept = own["preservation_cross_space"].overall.value
    if kept is not None and kept < PRESERVED and not prior.degenerate:
        yield (
            f"{name} keeps {text.percent(kept)} of how far the text encoder tells tasks apart: what is lost is lost in "
            "the prior."
        )


def _gap_words(name: str, gap: Dimension) -> str:
    words, interval = number_words(gap), gap.overall.interval
    if gap.band is None and gap.most is not None:
        return (
            f"{name}: with visual goals the policy succeeds in {text.percent(gap.most)} of trials, so a gap "
            f"({words}) cannot show what the prior costs; take a policy, or tasks, with more success."
        )
    if interval is not None and interval.low <= 0:
        return f"{name}: no cost of success can be shown; the gap to visual goals is {words}."
    if gap.band == "needs work":
        return f"{name} is the bottleneck: it costs the policy {words} of success."
    much = "little" if gap.band == "excellent" else "some success"
    return f"{name} costs the policy {much}: the gap to visual goals is {words}."


def extremes(prior: PriorReport, most: int) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """The tasks of highest and of lowest accuracy, at most so many of each, none in both."""
    known = [(task, r.value) for task, r in prior.dimensions["accuracy"].by_task.items() if r.value is not None]
    ordered = sorted(known, key=lambda pair: -pair[1])
    half = max(1, len(ordered) // 2)
    return ordered[: min(most, half)], ordered[half:][::-1][:most]
