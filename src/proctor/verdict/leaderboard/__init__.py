"""Agents over tasks: a weighted mean with its interval, ranks, what each term contributed, and what would raise it."""

from proctor.verdict.leaderboard.build import build
from proctor.verdict.leaderboard.from_runs import leaderboard
from proctor.verdict.leaderboard.model import Advice, Entry, Leaderboard, TaskResult

__all__ = ["Advice", "Entry", "Leaderboard", "TaskResult", "build", "leaderboard"]
