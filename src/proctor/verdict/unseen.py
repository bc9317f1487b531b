"""What trials of which nothing is known could do to a difference: those that were planned and did not run, and those
that are unscored. A proof must hold whatever they would have been."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from proctor.stats import Interval
from proctor.verdict.comparison.model import Pair
from proctor.verdict.comparison.pairs import compare_pair
from proctor.verdict.estimand import RATE, Measure
from proctor.verdict.judging import JudgeCfg
from proctor.verdict.trials import AgentTrials, TaskTrials


def unseen_tasks(a: AgentTrials, b: AgentTrials) -> list[str]:
    """The tasks on which one of the two has such trials."""
    tried = {task: [agent.tasks[task] for agent in (a, b) if task in agent.tasks] for task in a.tasks}
    return [task for task, own in tried.items() if any(len(one.unscored) or len(one.missing) for one in own)]


def widest_interval(pair: Pair, a: AgentTrials, b: AgentTrials, measure: Measure, judging: JudgeCfg) -> Interval | None:
    """From the low end of the interval of a minus b with everything counted against a, to its high end with everything
    counted for it; the interval itself where all is known. None where the scoring does not say how bad a score can
    be."""
    if not unseen_tasks(a, b):
        return pair.of(measure).interval
    limits = RATE if measure == "success" else judging.limits
    if limits is None:
        return None
    ends = []
    for of_a, of_b in ((limits.low, limits.high), (limits.high, limits.low)):
        left, right = (
            replace(
                agent,
                tasks={name: _filled(trials, measure, value) for name, trials in agent.tasks.items()},
                pairs=agent.pairs and pair.paired,
            )
            for agent, value in ((a, of_a), (b, of_b))
        )
        ends.append(compare_pair(left, right, judging).of(measure).interval)
    against, in_favour = ends
    return None if against is None or in_favour is None else Interval(against.low, in_favour.high)


def _filled(trials: TaskTrials, measure: Measure, value: float) -> TaskTrials:
    """As if every trial of which nothing is known had come to this value. Seeds that are known stay together; a trial
    that never ran has the seed of its index, as all trials of a plan have."""
    unseen = np.concatenate([trials.unscored, trials.missing])
    success = np.concatenate([trials.success, np.full(len(unseen), measure == "success" and value > 0)])
    score = np.concatenate([trials.score, np.full(len(unseen), value)])
    seed = None
    if trials.seed is not None and trials.unscored_seed is not None and not len(trials.missing):
        seed = np.concatenate([trials.seed, trials.unscored_seed])
    index = np.concatenate([trials.index, unseen])
    return TaskTrials(index, success, success.astype(np.float64) if measure == "success" else score, seed=seed)
