"""Numbers and intervals as text, the same in every file a person reads.

A value has as many digits as its interval justifies, and in a ranking as many as tell it from its neighbours. Negative
numbers have a minus sign (U+2212); files for programs are written without this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from proctor.config.models import EvalConfig
from proctor.plan.plan import seeds_of_run
from proctor.report.model import MeanEstimate, RateEstimate
from proctor.stats import Interval
from proctor.stats.intervals import ROUNDING
from proctor.texts import count as count

NONE, MINUS = "–", "−"
NOISE = 1e-12
"""What is nearer to 0 than this is a rounding error of sums."""
MOST_DIGITS, CLOSE = 15, {"rel_tol": ROUNDING, "abs_tol": NOISE}


def number(value: float | None, digits: int = 3) -> str:
    """`digits` significant digits, more before the point; without an exponent between 0.001 and a million."""
    if value is None or not math.isfinite(value):
        return NONE
    size = abs(value)
    if size < NOISE:
        return "0"
    if not 1e-3 <= size < 1e6:
        return _with_minus(f"{value:.{digits - 1}e}")
    return _with_minus(f"{value:,.{max(0, digits - 1 - math.floor(math.log10(size)))}f}")


def _with_minus(words: str) -> str:
    """With a minus sign, unless all digits were rounded to 0."""
    return words.replace("-", MINUS) if words.strip("-0.,") else words.removeprefix("-")


def rank(place: int | None) -> str:
    return NONE if place is None else str(place)


def percent(value: float | None, more: int = 0) -> str:
    """`70 %`; one decimal where whole percents would hide that it is neither 0 nor 100, and `more` decimals."""
    if value is None:
        return NONE
    whole = f"{100 * abs(value):.0f}"
    hides = (whole == "0" and abs(value) > NOISE) or (whole == "100" and abs(value) < 1)
    return f"{_with_minus(f'{100 * value:.{hides + more}f}')} %"


def percent_range(interval: Interval | None) -> str:
    return NONE if interval is None else f"{percent(interval.low)} to {percent(interval.high)}"


def _decimals(interval: Interval) -> int:
    """Two digits of the interval's width, from 0 to 6."""
    return min(6, max(0, 1 - math.floor(math.log10(interval.high - interval.low))))


def is_known(interval: Interval | None) -> bool:
    """Whether an interval says something: one without width comes of values that are all equal, and says nothing of
    others."""
    return interval is not None and interval.high - interval.low > NOISE * max(1.0, abs(interval.high))


def fixed(value: float | None, interval: Interval | None = None, more: int = 0) -> str:
    """A value with the decimals its interval justifies, and `more`; three digits where there is none. A value that is 0
    to that precision has no sign."""
    if value is None or not math.isfinite(value):
        return NONE
    if abs(value) >= 1e6 or interval is None or not is_known(interval):
        return number(value, 3 + more)
    return _with_minus(f"{value:,.{_decimals(interval) + more}f}")


def span(interval: Interval | None) -> str:
    """The ends of an interval, with the decimals that it justifies itself; a dash without one, or without width."""
    if interval is None or not is_known(interval):
        return NONE
    return " to ".join(fixed(end, interval) for end in interval)


def ranked_means(values: Sequence[float | None], intervals: Sequence[Interval | None]) -> list[str]:
    """Mean scores of a ranking, see `ranked`. Means that are apart by rounding errors only are the same number."""
    same = _without_rounding(values)
    return ranked(same, lambda i, more: fixed(same[i], intervals[i], more))


def _without_rounding(values: Sequence[float | None]) -> list[float | None]:
    """With one number for all that are equal up to rounding."""
    same = list(values)
    known = sorted((value, i) for i, value in enumerate(values) if value is not None and math.isfinite(value))
    for (_, before), (_, i) in pairwise(known):
        kept, own = same[before], same[i]
        if kept is not None and own is not None and math.isclose(kept, own, **CLOSE):
            same[i] = kept
    return same


def ranked_rates(rates: Sequence[float | None]) -> list[str]:
    """Success rates of a ranking, see `ranked`."""
    return ranked(rates, lambda i, more: percent(rates[i], more))


def ranked(values: Sequence[float | None], write: Callable[[int, int], str]) -> list[str]:
    """The values of a ranking as text. `write(i, more)` writes the i-th one with so many more digits than it needs by
    itself; it gets as many as show the order: different neighbours differ in the decimals that both have, and
    equal ones look equal."""
    known = {i: value for i, value in enumerate(values) if value is not None and math.isfinite(value)}
    neighbours = list(pairwise(sorted(known, key=lambda i: known[i])))
    equal = {(a, b): math.isclose(known[a], known[b], **CLOSE) for a, b in neighbours}
    more = [0] * len(values)
    written = [write(i, 0) for i in range(len(values))]
    changed = True
    while changed:
        changed = False
        for a, b in neighbours:
            low, high = _read(written[a]), _read(written[b])
            places = {i: _places(written[i]) for i in (a, b)}
            short = [i for i, own in places.items() if own == min(places.values())]
            shared = min(places.values())
            fine = low == high if equal[a, b] else round(low, shared) < round(high, shared)
            stuck = all(write(i, more[i] + 1) == written[i] for i in short)
            longer = [i for i in ((a, b) if stuck else short) if more[i] < MOST_DIGITS]
            if fine or not longer:
                continue
            for i in longer:
                more[i] += 1
                written[i] = write(i, more[i])
            changed = True
    return written


def _read(words: str) -> float:
    return float(words.removesuffix(" %").replace(",", "").replace(MINUS, "-"))


def _places(words: str) -> int:
    """Digits after the point."""
    return len(words.removesuffix(" %").partition("e")[0].partition(".")[2])


def mean(estimate: MeanEstimate) -> str:
    return fixed(estimate.mean, estimate.interval)


def rate_sentence(rate: RateEstimate, level: float) -> str:
    """`14 of 20 trials (70 %, 95 % interval 48 % to 85 %)`."""
    return (
        f"{rate.successes} of {count(rate.n, 'trial')} ({percent(rate.rate)}, "
        f"{percent(level)} interval {percent_range(rate.interval)})"
    )


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
    counts = [task["n_trials"] or len(task["seeds"] or ()) or config["n_trials"] for task in config["tasks"]]
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def seeds_each(config: Mapping[str, Any]) -> str:
    """Which seeds trials had: "seeds from 123", or those that are listed."""
    return seeds_of_run(EvalConfig.model_validate(config))


def signed(value: float) -> str:
    """A contribution with its sign: two decimals, or two digits where these would hide it."""
    size = abs(value)
    words = f"{size:.2f}" if size == 0 or 0.005 <= size < 100 else number(size, 2)
    return words if size == 0 else f"{'+' if value > 0 else MINUS}{words}"
