"""Where the time went, in words and for files.

`spent` is slot-seconds by place (environment, inference, transfer, waiting, recording), `batch` forwards, rows and
seconds by agent and stage; both as the ledger keeps them over all sessions of a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from proctor.report import text


def shares(spent: Mapping[str, float] | None) -> dict[str, float]:
    """By place, summing to 1; empty where nothing was measured."""
    total = sum(spent.values()) if spent else 0.0
    return {place: seconds / total for place, seconds in spent.items()} if spent and total else {}


def time_words(spent: Mapping[str, float] | None) -> str | None:
    """`environment 61 %, inference 30 %, ...`, the largest first; None where nothing was measured."""
    found = sorted(shares(spent).items(), key=lambda pair: -pair[1])
    return ", ".join(f"{place} {text.percent(share)}" for place, share in found) or None


def batch_words(batch: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """(agent, `plan 11.2 rows, act 14.9 rows`) for every agent that ran a forward."""
    for agent, stages in (batch or {}).items():
        means = {name: mean for name, stats in stages.items() if (mean := mean_rows(stats)) is not None}
        if means:
            yield agent, ", ".join(f"{stage} {text.number(mean)} rows" for stage, mean in means.items())


def mean_rows(stats: Mapping[str, float]) -> float | None:
    """Rows per forward; None where there was none."""
    return stats["rows"] / stats["forwards"] if stats["forwards"] else None


def time_keys(spent: Mapping[str, float] | None) -> dict[str, Any] | None:
    """For report.json."""
    return {"slot_seconds": dict(spent), "shares": shares(spent)} if spent else None


def batch_keys(batch: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """For report.json: the counts, with rows per forward."""
    if batch is None:
        return None
    return {
        agent: {stage: {**stats, "rows_per_forward": mean_rows(stats)} for stage, stats in stages.items()}
        for agent, stages in batch.items()
    }
