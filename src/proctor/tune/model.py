"""From costs to a rate: which part of an examination would be the slowest under some settings.

A step costs its environment `env_s`. Every `horizon` steps a slot asks its policy: the request and its answer take
`transfer_s` between worker and engine, of which the engine's own thread spends `engine_s`, and a forward of n rows
takes `forward_s(n)`. Five things bound the rate: the workers, the engine's thread, the policy, the slots (each waits
for its own answer), and the machine's cores, which all of these share. The least bound is the prediction. It leaves out
what overlaps badly, so it is a little too good.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LARGEST_WAIT_S = 0.05
NEAR = 0.95
"""A proposal may be this share of the best prediction where it takes fewer slots and workers."""


@dataclass(frozen=True)
class Costs:
    """Seconds, on this machine. `forwards`: rows -> seconds until all rows have actions (every stage on the way); at
    least one size."""

    env_s: float
    forwards: Mapping[int, float]
    horizon: float = 1.0
    """Steps per answer."""
    transfer_s: float = 0.0
    engine_s: float = 0.0
    cores: int = 1
    policy_on_cores: bool = True
    """False: on an accelerator or another machine."""

    def forward_s(self, rows: int) -> float:
        """Between measured sizes on a line, beyond the largest in proportion to it."""
        sizes = sorted(self.forwards)
        above = next((size for size in sizes if size >= rows), None)
        if above is None:
            return self.forwards[sizes[-1]] * rows / sizes[-1]
        below = max((size for size in sizes if size <= rows), default=above)
        if above == below:
            return self.forwards[above]
        share = (rows - below) / (above - below)
        return (1 - share) * self.forwards[below] + share * self.forwards[above]


@dataclass(frozen=True)
class Settings:
    """What can be set. `workers` 0 is `inline`."""

    workers: int
    num_parallel: int
    max_batch: int
    max_wait_s: float | None = None


def bounds(costs: Costs, settings: Settings) -> dict[str, float]:
    """Steps per second that each part could do."""
    rows = min(settings.num_parallel, settings.max_batch)
    forward, horizon = costs.forward_s(rows), costs.horizon
    policy_s = forward / (rows * horizon) if costs.policy_on_cores else 0.0
    if settings.workers == 0:
        return {
            "the one thread": 1.0 / (costs.env_s + costs.engine_s / horizon + forward / (rows * horizon)),
        }
    engine_s = costs.engine_s / horizon
    busy = costs.env_s + costs.transfer_s / horizon + policy_s
    return {
        "the workers": settings.workers / costs.env_s,
        "the engine": 1.0 / engine_s if engine_s > 0 else float("inf"),
        "the policy": rows * horizon / forward if forward > 0 else float("inf"),
        "the slots": settings.num_parallel * horizon / (horizon * costs.env_s + costs.transfer_s + forward),
        "the cores": costs.cores / busy,
    }


def predict(costs: Costs, settings: Settings) -> tuple[float, str]:
    """Steps per second, and what bounds them."""
    found = bounds(costs, settings)
    slowest = min(found, key=lambda name: found[name])
    return found[slowest], slowest


def propose(costs: Costs, pad_to: int | None, most_slots: int = 256) -> Settings:
    """The fewest slots and workers whose prediction is near the best. Forwards are as large as slots allow, in whole
    blocks of `pad_to`."""
    candidates = []
    slots = 1
    while slots <= most_slots:
        for workers in range(0, min(costs.cores, slots) + 1):
            settings = Settings(workers, slots, _max_batch(slots, pad_to))
            candidates.append((predict(costs, settings)[0], settings))
        slots *= 2
    best = max(rate for rate, _ in candidates)
    near = [settings for rate, settings in candidates if rate >= NEAR * best]
    chosen = min(near, key=lambda s: (s.num_parallel, s.workers))
    wait = min(costs.forward_s(min(chosen.num_parallel, chosen.max_batch)), LARGEST_WAIT_S)
    return Settings(chosen.workers, chosen.num_parallel, chosen.max_batch, round(wait, 4))


def _max_batch(slots: int, pad_to: int | None) -> int:
    return slots if pad_to is None else -(-slots // pad_to) * pad_to
