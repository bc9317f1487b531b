"""Which agent is better: all pairs of agents, on the same seeds where they have them, from columns of trials."""

from proctor.verdict.comparison.judge import MOST_IN_FULL, judge
from proctor.verdict.comparison.model import Comparison, Difference, Measure, Pair, Standing, TaskDifference
from proctor.verdict.comparison.needed import needed_trials
from proctor.verdict.comparison.pairs import JudgeCfg
from proctor.verdict.trials import AgentTrials, TaskTrials

__all__ = [
    "MOST_IN_FULL", "AgentTrials", "Comparison", "Difference", "JudgeCfg", "Measure", "Pair", "Standing",
    "TaskDifference", "TaskTrials", "judge", "needed_trials",
]  # fmt: skip
