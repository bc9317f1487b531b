"""Scoring: a finished trial becomes one number, by a named and versioned rule."""

from proctor.scoring.protocol import Score, Scoring
from proctor.scoring.registry import SCORINGS, make_scoring

__all__ = ["SCORINGS", "Score", "Scoring", "make_scoring"]
