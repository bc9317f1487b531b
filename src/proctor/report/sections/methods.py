"""Methods: agents of one group taken together, with the agent as the unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from proctor.report import text
from proctor.report.build.judgement import p_equals, p_value
from proctor.report.draw import pipes
from proctor.report.draw.markup import lead, plain_table, spread, table
from proctor.report.draw.svg import esc
from proctor.report.model import Finding, Report
from proctor.report.section import Grid, Section
from proctor.stats import Interval
from proctor.verdict.methods import FEW, Method, MethodPair, Methods

HEADER = ("method", "members", "mean of members", "interval", "lowest", "highest")
PAIRS = ("pair", "members", "difference", "interval", "p", "test")


class MethodsSection(Section):
    """Every method with its interval over members, and every two against each other; nothing without groups."""

    key, title, place = "methods", "Methods", 15

    def html(self, report: Report, data: Any) -> str:
        found = report.methods
        if found is None:
            return ""
        drawn = lead(_words(found)) + plain_table("Methods", HEADER, _rows(found))
        pairs = [
            [esc(pair), members, spread(difference, interval), esc(p), esc(test)]
            for pair, members, difference, interval, p, test in _pair_rows(found)
        ]
        header = ["First minus second", "Members", "Difference", "p (Holm)", "Test"]
        return drawn + (table("Two methods against each other", header, pairs) if pairs else "")

    def markdown(self, report: Report, data: Any) -> str:
        found = report.methods
        if found is None:
            return ""
        rows = [[pipes.escape(name), *cells] for name, *cells in _rows(found)]
        pairs = [[pipes.escape(name), *cells] for name, *cells in _pair_rows(found)]
        parts = ["## Methods", _words(found), pipes.table(HEADER, rows)]
        return "\n\n".join([*parts, pipes.table(PAIRS, pairs)] if pairs else parts)

    def terminal(self, report: Report, data: Any) -> Iterable[Grid | str]:
        if report.methods is not None:
            yield Grid(_words(report.methods), HEADER, tuple(map(tuple, _rows(report.methods))))
            if report.methods.pairs:
                told = "methods: first minus second; p by Holm over all pairs"
                yield Grid(told, PAIRS, tuple(map(tuple, _pair_rows(report.methods))))

    def keys(self, report: Report, data: Any) -> Mapping[str, Any]:
        found = report.methods
        if found is None:
            return {}
        pairs = [_pair_keys(found, pair) for pair in found.pairs]
        how = {"measure": found.by, "level": found.level, "ungrouped": list(found.ungrouped)}
        return {"methods": {**how, "methods": list(map(_method_keys, found.methods)), "pairs": pairs}}

    def opening(self, report: Report) -> str:
        return "" if report.methods is None else _verdict(report.methods)

    def findings(self, report: Report) -> Iterable[Finding]:
        if report.methods is None:
            return
        few = [f"{method.name} has {method.n}" for method in report.methods.methods if method.n < FEW]
        if few:
            yield Finding(
                "caution",
                f"Fewer than {FEW} agents stand for a method ({text.listed(few)}): how much trainings differ is hardly "
                "known, whatever the number of trials.",
            )
        for method in report.methods.methods:
            missing = [member.agent for member in method.members if member.value is None]
            if missing:
                told = f"{method.name}: no number for the method, because {text.listed(missing)}"
                yield Finding("caution", f"{told} {'have' if len(missing) > 1 else 'has'} none; give it all members.")
        if report.methods.ungrouped:
            listed = text.listed(list(report.methods.ungrouped))
            yield Finding("note", f"Agents without a group are in no method: {listed}.")


def _words(found: Methods) -> str:
    return (
        "Agents of one group are a sample of what a method's training gives: n counts agents, each by its "
        f"{_measure(found)} over all tasks. {text.percent(found.level)} intervals are Student's over members, of "
        "further trainings examined on these trials."
    )


def _measure(found: Methods) -> str:
    return "mean score" if found.by == "score" else "success rate"


def _value(found: Methods, value: float | None, interval: Interval | None = None) -> str:
    if value is None:
        return text.NONE
    return text.percent(value) if found.by == "success" else text.fixed(value, interval)


def _span(found: Methods, interval: Interval | None) -> str:
    return text.percent_range(interval) if found.by == "success" else text.span(interval)


def _rows(found: Methods) -> Iterable[list[str]]:
    for method in found.methods:
        known = [member.value for member in method.members if member.value is not None]
        ends = (min(known), max(known)) if known else (None, None)
        yield [
            method.name,
            str(method.n),
            _value(found, method.value, method.interval),
            _span(found, method.interval),
            *(_value(found, end, method.interval) for end in ends),
        ]


def _pair_rows(found: Methods) -> Iterable[list[str]]:
    counts = {method.name: method.n for method in found.methods}
    for pair in found.pairs:
        yield [
            f"{pair.a} − {pair.b}",
            f"{counts[pair.a]}, {counts[pair.b]}",
            *_difference(found, pair),
            p_value(pair.p_adjusted) + (" *" if found.different(pair) else ""),
            "none" if pair.test is None else pair.test.method,
        ]


def _difference(found: Methods, pair: MethodPair) -> tuple[str, str]:
    """In percent points for success."""
    if found.by == "score":
        return text.fixed(pair.difference, pair.interval), text.span(pair.interval)
    scaled = None if pair.interval is None else Interval(*(100 * end for end in pair.interval))
    return f"{text.fixed(100 * pair.difference, scaled)} points", text.span(scaled)


def _verdict(found: Methods) -> str:
    """What the first method is shown to be better than, and what not."""
    if not found.pairs:
        return ""
    best, own = found.pairs[0].a, [pair for pair in found.pairs if pair.a == found.pairs[0].a]
    beaten = [pair for pair in own if found.different(pair)]
    open_ = [pair for pair in own if not found.different(pair)]
    said = []
    if beaten:
        others = text.listed([pair.b for pair in beaten], most=3)
        said.append(f"As methods, {best} is better than {others}: {_told(found, beaten[0])}.")
    if open_:
        others = text.listed([pair.b for pair in open_], most=3)
        start = f"{best} is not shown to be better than {others}" if not beaten else f"Not so than {others}"
        said.append(f"{'' if beaten else 'As methods, '}{start}: {_told(found, open_[0])}.")
    return " ".join(said)


def _told(found: Methods, pair: MethodPair) -> str:
    a, b = (next(m for m in found.methods if m.name == name) for name in (pair.a, pair.b))
    difference, span = _difference(found, pair)
    level = text.percent(found.level)
    interval = "no interval" if pair.interval is None else f"{level} interval {span}"
    p = "no test" if pair.p_adjusted is None else f"p {p_equals(pair.p_adjusted)}"
    hidden = "; unscored trials could turn it round" if pair.worst <= 0 < pair.difference else ""
    values = f"{_measure(found)} {_of(found, a)} against {_of(found, b)}"
    return f"{values}, difference {difference} ({interval}, {p}){hidden}"


def _of(found: Methods, method: Method) -> str:
    return f"{_value(found, method.value, method.interval)} over {text.count(method.n, 'agent')}"


def _method_keys(method: Method) -> dict[str, Any]:
    return {
        "method": method.name,
        "n": method.n,
        "value": method.value,
        "interval": method.interval,
        "std": method.std,
        "members": [{"agent": member.agent, "value": member.value} for member in method.members],
    }


def _pair_keys(found: Methods, pair: MethodPair) -> dict[str, Any]:
    keys = {"worst_case" if name == "worst" else name: value for name, value in asdict(pair).items()}
    p, method = (None, None) if pair.test is None else (pair.test.p_value, pair.test.method)
    return {**keys, "p": p, "test": method, "different": found.different(pair)}
