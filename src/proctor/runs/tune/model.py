"""From costs to a rate: which part of an examination would be the slowest under some settings.

A step costs its environment `env_s`. Every `horizon` steps a slot asks its policy. The engine's thread spends
`engine_s` on an ask; where it comes from a worker process, the answer is there `transfer_s` later, and all processes
together spend `message_s` on it. A forward of n rows takes `forward_s(n)`. Five things bound the rate: the workers, the
engine's thread, the policy, the slots (each waits for its own answer), and the machine's cores, which all of these
share. The least bound is the prediction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

LARGEST_WAIT_S = 0.05
SHORT_S = 0.002
"""For forwards shorter than this the engine's own rule, which looks at what the workers still have to do, is better
than any fixed wait."""
SLOTS_PER_WORKER = 4
NEAR = 0.95
"""A proposal may be this share of the best prediction where it takes fewer slots and workers."""


@dataclass(frozen=True)
class Costs:
    """Seconds, on this machine. `forwards`: rows -> seconds until all rows have actions (every stage on the way); at
    least one size."""

    env_s: float
    forwards: Mapping[int, float]
    horizon: float = 1.0
    """How many steps one answer of the policy lasts."""
    engine_s: float = 0.0
    transfer_s: float = 0.0
    """How long a slot waits for an answer from outside its worker process."""
    message_s: float = 0.0
    """How much work of the cores such an answer takes."""
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
    busy = costs.env_s + costs.message_s / horizon + policy_s
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


def propose(costs: Costs, pad_to: int | None, most_slots: int = 256) -> list[Settings]:
    """Two candidates: the best with worker processes and the best without. Each is the one with the fewest slots, then
    workers, whose prediction is near the best of its kind. Forwards are as large as slots allow, in whole blocks of
    `pad_to`; a worker has several slots, so that it can step one while another waits."""
    sizes = [1 << n for n in range(most_slots.bit_length()) if 1 << n <= most_slots]
    inline = [Settings(0, slots, _max_batch(slots, pad_to)) for slots in sizes]
    process = [
        Settings(workers, slots, _max_batch(slots, pad_to))
        for slots in sizes
        for workers in range(1, costs.cores + 1)
        if slots >= min(SLOTS_PER_WORKER * workers, most_slots)
    ]
    return [_nearest(costs, candidates) for candidates in (process, inline)]


def _nearest(costs: Costs, candidates: list[Settings]) -> Settings:
    rates = {settings: predict(costs, settings)[0] for settings in candidates}
    enough = NEAR * max(rates.values())
    chosen = min((s for s, rate in rates.items() if rate >= enough), key=lambda s: (s.num_parallel, s.workers))
    forward = costs.forward_s(min(chosen.num_parallel, chosen.max_batch))
    return replace(chosen, max_wait_s=None if forward < SHORT_S else round(min(forward, LARGEST_WAIT_S), 4))


def _max_batch(slots: int, pad_to: int | None) -> int:
    return slots if pad_to is None else -(-slots // pad_to) * pad_to
