"""Agents over tasks: a weighted mean with its interval, ranks, what each term contributed, and what would raise it."""

from proctor.verdict.leaderboard.build import build
from proctor.verdict.leaderboard.from_runs import leaderboard
from proctor.verdict.leaderboard.model import Advice, Entry, Gap, Leaderboard, TaskResult

__all__ = ["Advice", "Entry", "Gap", "Leaderboard", "TaskResult", "build", "leaderboard"]
