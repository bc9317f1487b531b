"""The scoring and the metrics of a config, loaded before the first trial: a run of hours must not end with a typing
error in the file that was to score it."""

from __future__ import annotations

from proctor.config.models import EvalConfig
from proctor.errors import BREAKS, InputError
from proctor.metrics.registry import find_metrics
from proctor.scoring import make_scoring


def judging_problems(cfg: EvalConfig) -> list[str]:
    """What is wrong with the scoring and with the metrics that the config brings; empty where all can be loaded."""
    problems = []
    for what, load in (
        ("scoring", lambda: make_scoring(cfg.scoring)),
        ("scoring.metrics", lambda: find_metrics(cfg.scoring.metrics)),
    ):
        try:
            load()
        except BREAKS as error:
            text = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            problems.append(f"{what}: {text}")
    return problems


def require_judging(cfg: EvalConfig) -> None:
    """Raises InputError with every problem found."""
    if problems := judging_problems(cfg):
        raise InputError("\n".join(problems))
