"""Scoring: a finished trial becomes one number, by a named and versioned rule."""

from proctor.scoring.protocol import Score, Scoring
from proctor.scoring.registry import make_scoring
from proctor.scoring.targets import check_targets, read_targets

__all__ = ["Score", "Scoring", "check_targets", "make_scoring", "read_targets"]
