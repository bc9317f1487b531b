"""Which agent is better: all pairs of agents, on the same seeds where they have them, from columns of trials."""

from proctor.verdict.comparison.judge import MOST_AGENTS, judge, needed_trials
from proctor.verdict.comparison.model import Comparison, Difference, Pair, Standing, TaskDifference
from proctor.verdict.estimand import MEASURES, JudgeCfg, Measure, Weights
from proctor.verdict.trials import AgentTrials, TaskTrials

__all__ = [
    "MEASURES", "MOST_AGENTS", "AgentTrials", "Comparison", "Difference", "JudgeCfg", "Measure", "Pair", "Standing",
    "TaskDifference", "TaskTrials", "Weights", "judge", "needed_trials",
]  # fmt: skip
