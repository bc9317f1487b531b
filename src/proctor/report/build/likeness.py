"""What is said of agents that may be alike up to a margin."""

from __future__ import annotations

from proctor.report import text
from proctor.verdict.equivalence import Alike, Likeness


def likeness_sentence(found: Likeness) -> str:
    """What was decided, and by what."""
    who = f"{found.a} and {found.b}"
    if found.interval is None:
        return f"{who}: not settled, there is no interval ({found.reason})."
    unit = _points if found.measure == "success" else text.fixed
    name = "success" if found.measure == "success" else "score"
    low, high = (unit(end) for end in found.interval)
    level = text.percent(found.level)
    span = f"{name} differs by {unit(found.difference)} ({level} interval {low} to {high}, n {found.n:,})"
    within = f"{unit(-found.margin)} to {unit(found.margin)}"
    words = {
        Alike.SHOWN: f"equivalent: the whole interval lies within {within}",
        Alike.DIFFERENT: f"different: the whole interval lies outside of {within}",
        Alike.OPEN: f"not shown to be equivalent: the interval does not lie within {within}",
    }[found.ruling]
    inside = -found.margin < found.interval.low and found.interval.high < found.margin
    if found.ruling is Alike.OPEN and inside:
        words = "not shown to be equivalent: unscored trials could hide a difference"
    return f"{who}: {span}: {words}."


def _points(value: float | None) -> str:
    """Percent points, with the minus sign of all pages."""
    if value is None:
        return text.NONE
    words = f"{100 * abs(value):.1f}"
    return f"−{words} points" if value < 0 and float(words) else f"{words} points"
