"""Targets of the config against what the agents came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proctor.metrics import MetricInfo
from proctor.report.model import AgentReport, TargetResult
from proctor.stats import Interval


def target_results(
    targets: Mapping[str, float], agents: Sequence[AgentReport], infos: Mapping[str, MetricInfo]
) -> tuple[TargetResult, ...]:
    """A result for every target and agent, agents in their order. A metric that nobody knows counts as one where lower
    is better."""
    return tuple(_result(agent, name, target, infos.get(name)) for name, target in targets.items() for agent in agents)


def _result(agent: AgentReport, name: str, target: float, info: MetricInfo | None) -> TargetResult:
    estimate = agent.overall.metrics.get(name)
    value, interval, n = (None, None, 0) if estimate is None else (estimate.value, estimate.interval, estimate.n)
    n_scored = sum(cell.summary.n for cell in agent.cells if name in cell.summary.metrics)
    direction = "up" if info is not None and info.direction == "up" else "down"
    met = value is not None and n == n_scored and _reaches(value, target, direction)
    return TargetResult(
        agent=agent.agent,
        metric=name,
        unit="?" if info is None else info.unit,
        direction=direction,
        target=target,
        value=value,
        interval=interval,
        n=n,
        n_scored=n_scored,
        met=met,
        clear=_clear(value, interval, target, direction),
    )


def _reaches(value: float, target: float, direction: str) -> bool:
    return value >= target if direction == "up" else value <= target


def _clear(value: float | None, interval: Interval | None, target: float, direction: str) -> bool:
    """Whether mean and interval lie on one side of the target."""
    if value is None or interval is None:
        return False
    return len({_reaches(x, target, direction) for x in (value, interval.low, interval.high)}) == 1
