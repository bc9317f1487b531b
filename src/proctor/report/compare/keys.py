"""A comparison for programs: plain data, null where there is no number."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from proctor.verdict.comparison import Comparison, Difference, Pair, Standing, needed_trials
from proctor.verdict.comparison.model import MEASURES
from proctor.verdict.gate import Gate


def comparison_keys(found: Comparison) -> dict[str, Any]:
    return {
        "ranked_by": found.by,
        "level": found.level,
        "tasks": list(found.tasks),
        "all_pairs": found.in_full,
        "correction": "Holm, each measure by itself",
        "agents": [_standing(agent) for agent in found.agents],
        "pairs": [_pair(found, pair) for pair in found.pairs],
    }


def gate_keys(gate: Gate) -> dict[str, Any]:
    return {**asdict(gate), "ruling": gate.ruling.value}


def _standing(agent: Standing) -> dict[str, Any]:
    return {
        "agent": agent.agent,
        "rank": agent.rank,
        "n": agent.n,
        "n_unscored": agent.n_unscored,
        "successes": agent.successes,
        "success_rate": agent.rate,
        "success_interval": agent.rate_interval,
        "score_mean": agent.score,
        "letters": {measure: agent.letters.get(measure) for measure in MEASURES},
    }


def _pair(found: Comparison, pair: Pair) -> dict[str, Any]:
    counts, better = pair.discordance, pair.improvement
    return {
        "a": pair.a,
        "b": pair.b,
        "paired": pair.paired,
        "unpaired_because": pair.unpaired_because,
        "n_a": pair.n_a,
        "n_b": pair.n_b,
        "n_copies": pair.n_copies,
        "n_unscored": pair.n_unscored,
        "n_without_partner": pair.n_single,
        "outcomes": None if counts is None else counts._asdict(),
        "success": _difference(found, pair, pair.success),
        "score": _difference(found, pair, pair.score),
        "probability_of_improvement": None if better is None else {"value": better.value, "interval": better.interval},
        "by_task": [asdict(task) for task in pair.tasks],
    }


def _difference(found: Comparison, pair: Pair, own: Difference) -> dict[str, Any]:
    test = own.test
    different = found.different(pair, own.measure)
    open_ = test is not None and not different and pair.a == found.agents[0].agent
    needed = needed_trials(found, pair, own.measure) if open_ else None
    return {
        "a": own.value_a,
        "b": own.value_b,
        "difference": own.value,
        "interval": own.interval,
        "interval_method": own.method,
        "no_interval_because": own.reason,
        "bounds": own.bounds,
        "p": None if test is None else test.p_value,
        "p_adjusted": own.p_adjusted,
        "test": None if test is None else test.method,
        "exact": None if test is None else test.exact,
        "different": different,
        "effects": dict(own.effects),
        "trials_to_settle": None if needed is None else needed.n,
    }
