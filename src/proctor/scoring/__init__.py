"""Scoring: a finished trial becomes one number, by a named and versioned rule."""

from proctor.scoring.columns import ColumnScoring, Scores, TrialColumns
from proctor.scoring.protocol import Remark, Score, Scoring, ScoringOptions
from proctor.scoring.registry import make_scoring

__all__ = [
    "ColumnScoring", "Remark", "Score", "Scores", "Scoring", "ScoringOptions", "TrialColumns", "make_scoring",
]  # fmt: skip
