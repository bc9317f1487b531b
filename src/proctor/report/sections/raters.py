"""Who judged imported trials: raters, blinding and agreement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from proctor.report import text
from proctor.report.draw import pipes
from proctor.report.draw.markup import lead, plain_table
from proctor.report.model import Finding, Report
from proctor.report.section import Grid, Section
from proctor.verdict.raters import Raters

HEADER = ("rater", "trials", "of agents", "blind", "knew the agent", "not said")
PAIRS = ("raters", "trials of both", "judged alike", "Cohen's kappa", "interval")


class RatersSection(Section):
    """Every rater, and how far every two agree; nothing where the file named no rater and no blinding."""

    key, title, place = "raters", "Raters", 38

    def html(self, report: Report, data: Any) -> str:
        found = report.raters
        if found is None:
            return ""
        drawn = lead(_words(found))
        if found.raters:
            drawn += plain_table("What each rater judged", HEADER, _rows(found))
        if found.agreements:
            drawn += plain_table("How far raters agree", PAIRS, _pair_rows(found))
        return drawn

    def markdown(self, report: Report, data: Any) -> str:
        found = report.raters
        if found is None:
            return ""
        parts = ["## Raters", _words(found)]
        for header, rows in ((HEADER, list(_rows(found))), (PAIRS, list(_pair_rows(found)))):
            parts += [pipes.table(header, [list(map(pipes.escape, row)) for row in rows])] if rows else []
        return "\n\n".join(parts)

    def terminal(self, report: Report, data: Any) -> Iterable[Grid | str]:
        if report.raters is not None:
            yield f"raters: {_words(report.raters)}"

    def keys(self, report: Report, data: Any) -> Mapping[str, Any]:
        found = report.raters
        if found is None:
            return {}
        keys = asdict(found)
        keys["blinding"] = [{**asdict(own), "unsaid": own.unsaid} for own in found.blinding]
        keys["agreements"] = [{"raters": [a, b], **asdict(own)} for a, b, own in found.agreements]
        return {"raters": keys}

    def findings(self, report: Report) -> Iterable[Finding]:
        if report.raters is not None:
            yield from (Finding("caution", said) for said in report.raters.cautions())


def _words(found: Raters) -> str:
    n, blind = (sum(getattr(own, name) for own in found.blinding) for name in ("n", "blind"))
    who = text.count(len(found.raters), "rater") if found.raters else "No rater is named"
    several = f", {found.several:,} of them by several, of whom the majority decides" if found.several else ""
    told = f"{blind:,} of {n:,} blind, by raters who did not know the agent"
    return f"{who}; {text.count(n, 'trial')} judged{several}; {told}."


def _rows(found: Raters) -> Iterator[list[str]]:
    for rater in found.raters:
        agents = ", ".join(f"{agent} {n}" for agent, n in rater.agents.items())
        yield [rater.name, f"{rater.n:,}", agents, f"{rater.blind:,}", f"{rater.open:,}", f"{rater.unsaid:,}"]


def _pair_rows(found: Raters) -> Iterator[list[str]]:
    for a, b, own in found.agreements:
        kappa = text.NONE if own.kappa is None else _two_digits(own.kappa)
        span = text.NONE if own.interval is None else " to ".join(map(_two_digits, own.interval))
        yield [f"{a}, {b}", f"{own.n:,}", f"{own.agreed:,}", kappa, span]


def _two_digits(value: float) -> str:
    return f"{value:.2f}".replace("-", text.MINUS)
