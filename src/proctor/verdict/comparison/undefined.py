"""Comparisons on tasks on which nothing says what success is: they have no success rates."""

from __future__ import annotations

from dataclasses import replace

from proctor.verdict.comparison.model import Comparison, Difference, Pair, Standing

UNDEFINED = "nothing says what success is on some task"


def without_success(found: Comparison) -> Comparison:
    """The same comparison, by scores alone."""
    agents, pairs = (_standing(agent) for agent in found.agents), (_pair(pair) for pair in found.pairs)
    return replace(found, agents=tuple(agents), pairs=tuple(pairs))


def _standing(agent: Standing) -> Standing:
    return replace(agent, successes=0, rate=None, rate_interval=None, letters={**agent.letters, "success": None})


def _pair(pair: Pair) -> Pair:
    nothing = Difference("success", None, None, None, None, "none", reason=UNDEFINED, untested=UNDEFINED)
    tasks = tuple(replace(task, success=None) for task in pair.tasks)
    return replace(pair, differences={**pair.differences, "success": nothing}, tasks=tasks, discordance=None)
