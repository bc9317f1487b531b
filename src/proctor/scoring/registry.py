"""Scorings by name, or a user's own by import string."""

from __future__ import annotations

from pathlib import Path

from proctor.config.models import ScoringCfg
from proctor.errors import InputError
from proctor.registry import SCORINGS, import_object
from proctor.scoring.plain import FunctionScoring
from proctor.scoring.protocol import Scoring


def make_scoring(cfg: ScoringCfg, base: Path | None = None) -> Scoring:
    """The scoring that `cfg.mode` names: registered, or by import string (files under `base`) a Scoring
    subclass or a plain function of a TrialResult."""
    found = import_object(cfg.mode, base) if ":" in cfg.mode else SCORINGS.load(cfg.mode)
    if isinstance(found, type):
        if issubclass(found, Scoring):
            return found(cfg)
    elif callable(found):
        return FunctionScoring(cfg, found)
    raise InputError(
        f'the scoring "{cfg.mode}" is {found!r}; expected a subclass of proctor.scoring.Scoring or a '
        "function that takes a TrialResult and returns a number"
    )
