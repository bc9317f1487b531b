"""A leaderboard in sentences: who leads, how sure that is, and what would raise a score."""

from __future__ import annotations

from proctor.report import text
from proctor.report.build.judgement import p_equals
from proctor.report.text import signed, span_words, value_words
from proctor.verdict.leaderboard import Advice, Gap, Leaderboard
from proctor.verdict.leaderboard.gaps import EXACT


def verdict(board: Leaderboard) -> str:
    """One or two sentences about the first agent and those that are not significantly behind it."""
    ranked = [entry for entry in board.entries if entry.score is not None]
    if not ranked:
        return "No ranking: no agent has a score on every task."
    first = ranked[0]
    span = f" ({text.percent(board.level)} interval {span_words(first.interval)})" if first.interval else ""
    opening = f"{first.agent} leads with {value_words(first.score, first.interval)}{span}"
    if len(ranked) == 1:
        return f"{opening}. No other agent has a score on every task." if len(board.entries) > 1 else f"{opening}."
    ties = [gap for gap in board.gaps if gap.a == first.agent and not gap.apart]
    if not ties:
        others = [entry.agent for entry in ranked[1:]]
        beaten = text.listed(others) if len(others) <= 3 else f"all {len(others)} others"
        return f"{opening}, and is better than {beaten}: {gap_words(board.gaps[0], board.level)}."
    names = text.listed([gap.b for gap in ties], most=3)
    return f"{opening}, but not significantly ahead of {names}: {gap_words(ties[0], board.level)}."


def gap_words(gap: Gap, level: float) -> str:
    """`difference 1.2 to B (95 % interval 0.4 to 2.0, 30 pairs of episodes, p = 0.004)`."""
    trials = f"{text.count(gap.n, 'pair')} of episodes" if gap.paired else text.count(gap.n, "episode")
    opening = f"difference {value_words(gap.value, gap.interval)} to {gap.b}"
    if gap.interval is None:
        exact = "exact, as no seed changes an episode" if gap.reason == EXACT else f"no interval: {gap.reason}"
        return f"{opening} ({exact})"
    p = "" if gap.p is None else f", p {p_equals(gap.p)}"
    return f"{opening} ({text.percent(level)} interval {span_words(gap.interval)}, {trials}{p})"


def advice_words(advice: Advice) -> str:
    """`fell in 80 % of episodes: −1.20`."""
    if advice.kind == "avoid":
        return f"{advice.did} in {text.percent(advice.share)} of episodes: {signed(advice.own)}"
    if advice.kind == "reach":
        return f"{advice.did} in {text.percent(advice.share)} of episodes: up to {signed(advice.gain)}"
    paid = f"{advice.term} adds {signed(advice.own)}, and {signed(advice.best)} for {advice.example}"
    return f"{paid}: {signed(advice.gain)}"


def episodes_words(n: int, n_distinct: int) -> str:
    """`10`, or `10, 1 different`."""
    return f"{n:,}" if n == n_distinct else f"{n:,}, {n_distinct:,} different"
