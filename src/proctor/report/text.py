"""Numbers and intervals as text, the same in every file a person reads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from proctor.report.model import MeanEstimate, RateEstimate
from proctor.stats import Interval

NONE = "–"


def number(value: float | None, digits: int = 3) -> str:
    """`digits` significant digits, more before the point; without an exponent between 0.001 and a million."""
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0:
        return "0"
    size = abs(value)
    if not 1e-3 <= size < 1e6:
        return f"{value:.{digits - 1}e}"
    return f"{value:,.{max(0, digits - 1 - math.floor(math.log10(size)))}f}"


def rank(place: int | None) -> str:
    return NONE if place is None else str(place)


def percent(value: float | None) -> str:
    """`70 %`; one decimal where whole percents would hide that it is neither 0 nor 100."""
    if value is None:
        return NONE
    whole = f"{100 * value:.0f}"
    if (whole == "0" and value > 0) or (whole == "100" and value < 1):
        return f"{100 * value:.1f} %"
    return f"{whole} %"


def percent_range(interval: Interval | None) -> str:
    return NONE if interval is None else f"{percent(interval.low)} to {percent(interval.high)}"


def _decimals(interval: Interval) -> int:
    """Two digits of the interval's width, from 0 to 4."""
    return min(4, max(0, 1 - math.floor(math.log10(interval.high - interval.low))))


def fixed(value: float | None, interval: Interval | None) -> str:
    """A value with the decimals its interval justifies; three digits where there is none."""
    if value is None:
        return NONE
    if abs(value) >= 1e6 or interval is None or interval.low == interval.high:
        return number(value)
    return f"{value:,.{_decimals(interval)}f}"


def span(interval: Interval | None) -> str:
    """The ends of an interval, with the decimals that it justifies itself."""
    return NONE if interval is None else " to ".join(fixed(end, interval) for end in interval)


def mean(estimate: MeanEstimate) -> str:
    return fixed(estimate.mean, estimate.interval)


def rate_sentence(rate: RateEstimate, level: float) -> str:
    """`14 of 20 trials (70 %, 95 % interval 48 % to 85 %)`."""
    return (
        f"{rate.successes} of {count(rate.n, 'trial')} ({percent(rate.rate)}, "
        f"{percent(level)} interval {percent_range(rate.interval)})"
    )


def count(n: int, word: str) -> str:
    """`1 trial`, `2 trials`, `12,000 trials`."""
    return f"{n:,} {word}" + ("" if n == 1 else "s")


def duration(seconds: float | None) -> str:
    if seconds is None:
        return NONE
    if seconds < 60:
        return f"{number(seconds, 2)} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def listed(words: list[str], most: int = 6) -> str:
    """`a, b and c`; beyond `most` the rest is counted."""
    if len(words) > most:
        return f"{', '.join(words[:most])} and {len(words) - most} more"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def trials_each(config: Mapping[str, Any]) -> str:
    """How many trials each agent has on each task: "20", or "8 to 20" where tasks differ."""
    counts = [task["n_trials"] or config["n_trials"] for task in config["tasks"]]
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def value_words(value: float | None, interval: Interval | None = None) -> str:
    """A value with the decimals that its interval justifies."""
    words = fixed(value, interval)
    rounded_away = words.startswith("-") and not words.strip("-0.,")
    return words.removeprefix("-") if rounded_away else words.replace("-", "−")


def tick_words(value: float) -> str:
    return f"{value:g}".replace("-", "−")


def span_words(interval: Interval | None) -> str:
    """The ends of an interval; a dash without one."""
    return NONE if interval is None else " to ".join(value_words(end, interval) for end in interval)


def signed(value: float) -> str:
    """A contribution with its sign: two decimals, or two digits where these would hide it."""
    size = abs(value)
    words = f"{size:.2f}" if size == 0 or 0.005 <= size < 100 else number(size, 2)
    return words if size == 0 else f"{'+' if value > 0 else '−'}{words}"
