"""Agents over tasks: a weighted mean with its interval, ranks, what each term contributed, and what would raise it."""

from proctor.leaderboard.build import Options, build
from proctor.leaderboard.merging import leaderboard
from proctor.leaderboard.model import Advice, Entry, Gap, Leaderboard, TaskResult

__all__ = ["Advice", "Entry", "Gap", "Leaderboard", "Options", "TaskResult", "build", "leaderboard"]
