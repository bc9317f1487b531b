"""Methods as the unit: agents of one group are a sample of what its training gives.

Two networks that differ in the seed of their training are one method twice. Whether a method is better is a question
about further trainings, so n counts agents, and no number of trials makes up for few of them. All agents were examined
on the same trials; what is said holds on those.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from proctor.stats import Interval, Resampling, TestResult, flat, holm, student_t, within
from proctor.stats.members import compare_members
from proctor.verdict.estimand import RATE, differences_within

FEW = 3
"""Members below which a caution says that there are few."""


@dataclass(frozen=True, slots=True)
class Member:
    """An agent of a method, with its mean over all tasks; None where it has none. `bounds`: that mean, had all of its
    unscored trials failed or succeeded; None where every trial is scored, and for scores, which may have no limits."""

    agent: str
    value: float | None
    bounds: Interval | None = None


@dataclass(frozen=True, slots=True)
class Method:
    """`value` is the mean of the members' values, None where one of them has none. `interval` is Student's over
    members; None with fewer than two, or where all are equal. `std` is that of a sample (n - 1)."""

    name: str
    members: tuple[Member, ...]
    value: float | None
    interval: Interval | None
    std: float | None

    @property
    def n(self) -> int:
        return len(self.members)


@dataclass(frozen=True, slots=True)
class MethodPair:
    """Method a minus method b. `test` is None where there are too few members, or none differs from another;
    `p_adjusted` is Holm's over all pairs. `worst`: the difference, had all unscored trials spoken against a."""

    a: str
    b: str
    difference: float
    interval: Interval | None
    test: TestResult | None
    worst: float
    p_adjusted: float | None = None


@dataclass(frozen=True, slots=True)
class Methods:
    """Methods in the order of their values, those without one last, and every pair of those that have one. `ungrouped`
    are the agents of no method."""

    methods: tuple[Method, ...]
    pairs: tuple[MethodPair, ...]
    by: Literal["score", "success"]
    level: float
    ungrouped: tuple[str, ...] = ()

    def different(self, pair: MethodPair) -> bool:
        """Whether the two differ significantly, and unscored trials could not have turned the difference round."""
        return pair.p_adjusted is not None and pair.p_adjusted <= 1 - self.level + 1e-12 and pair.worst > 0


def judge_methods(
    groups: Mapping[str, Sequence[Member]],
    by: Literal["score", "success"],
    level: float = 0.95,
    seed: int = 0,
    limits: Interval | None = None,
) -> Methods:
    """Every method by itself, and every two against each other. `limits`: what scores lie within, where the scoring
    says so; no interval reaches beyond."""
    ends = RATE if by == "success" else limits
    found = [_method(name, members, ends, level) for name, members in groups.items()]
    ranked = sorted(found, key=lambda method: -math.inf if method.value is None else method.value, reverse=True)
    known = [method for method in ranked if method.value is not None]
    pairs = [_pair(a, b, level, Resampling(9_999, seed), ends) for i, a in enumerate(known) for b in known[i + 1 :]]
    tested = [(i, pair.test.p_value) for i, pair in enumerate(pairs) if pair.test is not None]
    for (i, _), p in zip(tested, holm([p for _, p in tested]), strict=True):
        pairs[i] = replace(pairs[i], p_adjusted=p)
    return Methods(tuple(ranked), tuple(pairs), by, level)


def _method(name: str, members: Sequence[Member], limits: Interval | None, level: float) -> Method:
    known = [member.value for member in members if member.value is not None]
    if not known or len(known) < len(members):
        return Method(name, tuple(members), None, None, None)
    values = np.array(known)
    interval = within(None if flat(values) else student_t(values, level), limits)
    std = float(values.std(ddof=1)) if len(values) > 1 else None
    return Method(name, tuple(members), float(values.mean()), interval, std)


def _pair(a: Method, b: Method, level: float, resampling: Resampling, limits: Interval | None) -> MethodPair:
    left, right = (np.array([member.value for member in method.members], dtype=np.float64) for method in (a, b))
    test, interval = compare_members(left, right, level, resampling)
    lowest = [value if m.bounds is None else m.bounds.low for m, value in zip(a.members, left, strict=True)]
    highest = [value if m.bounds is None else m.bounds.high for m, value in zip(b.members, right, strict=True)]
    worst = float(np.mean(lowest) - np.mean(highest))
    interval = within(interval, differences_within(limits))
    return MethodPair(a.name, b.name, float(left.mean() - right.mean()), interval, test, worst)
