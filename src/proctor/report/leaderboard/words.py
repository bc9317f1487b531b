"""A leaderboard in sentences: who leads, how sure that is, and what would raise a score."""

from __future__ import annotations

from proctor.report import text
from proctor.report.build import judgement
from proctor.report.text import signed
from proctor.verdict.leaderboard import Advice, Leaderboard


def verdict(board: Leaderboard) -> str:
    """What the comparison of the agents says; of a single one with a score, that."""
    ranked = [entry for entry in board.entries if entry.score is not None]
    if not ranked:
        return "No ranking: no agent has a score on every task."
    if len(ranked) > 1:
        return judgement.verdict(board.comparison)
    first = ranked[0]
    span = f" ({text.percent(board.level)} interval {text.span(first.interval)})" if first.interval else ""
    opening = f"{first.agent} has the score {text.fixed(first.score, first.interval)}{span}"
    return f"{opening}. No other agent has a score on every task." if len(board.entries) > 1 else f"{opening}."


def score_words(board: Leaderboard) -> list[str]:
    """The score of every agent, with the digits that show the ranking."""
    return text.ranked_means([entry.score for entry in board.entries], [entry.interval for entry in board.entries])


def task_words(board: Leaderboard) -> list[list[str]]:
    """The scores of every agent task by task, each task with the digits that show its own ranking."""
    columns = [[entry.tasks[place] for entry in board.entries] for place in range(len(board.tasks))]
    written = [text.ranked_means([own.score for own in one], [own.interval for own in one]) for one in columns]
    return [[column[row] for column in written] for row in range(len(board.entries))]


def advice_words(advice: Advice) -> str:
    """`fell in 80 % of episodes: −1.20`."""
    if advice.kind == "avoid":
        return f"{advice.did} in {text.percent(advice.share)} of episodes: {signed(advice.own)}"
    if advice.kind == "reach":
        return f"{advice.did} in {text.percent(advice.share)} of episodes: up to {signed(advice.gain)}"
    paid = f"{advice.term} adds {signed(advice.own)}, and {signed(advice.best)} for {advice.example}"
    return f"{paid}: {signed(advice.gain)}"


def episodes_words(n: int, n_repeats: int) -> str:
    """`10`, or `1 and 9 repeats`."""
    return f"{n:,}" if not n_repeats else f"{n:,} and {text.count(n_repeats, 'repeat')}"
