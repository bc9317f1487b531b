"""Scoring: a finished trial becomes one number, by a named and versioned rule."""

from proctor.scoring.columns import ColumnScoring, Scores, TrialColumns
from proctor.scoring.plain import make_scoring
from proctor.scoring.protocol import Remark, Score, Scoring, ScoringOptions

__all__ = [
    "ColumnScoring", "Remark", "Score", "Scores", "Scoring", "ScoringOptions", "TrialColumns", "make_scoring",
]  # fmt: skip
