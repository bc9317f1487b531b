"""Scoring: a finished trial becomes one number, by a named and versioned rule."""

from proctor.scoring.protocol import Remark, Score, Scoring, ScoringOptions
from proctor.scoring.registry import make_scoring

__all__ = ["Remark", "Score", "Scoring", "ScoringOptions", "make_scoring"]
