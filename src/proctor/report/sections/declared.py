"""The declared protocol: its hash, what came of the primary metric, and in what the run deviates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from proctor.report import text
from proctor.report.build.judgement import p_value
from proctor.report.draw import pipes
from proctor.report.draw.markup import NONE, definitions, lead, spread, table
from proctor.report.draw.svg import esc
from proctor.report.model import AgentReport, Finding, Report
from proctor.report.section import Grid, Section
from proctor.verdict.comparison import Comparison, Pair
from proctor.verdict.declared import SHORT, Declared

MAX_AGENTS = 20


class DeclaredSection(Section):
    """Nothing where the config declares nothing."""

    key, title, place = "declared", "Declared protocol", 35

    def html(self, report: Report, data: Any) -> str:
        found = report.declared
        if found is None:
            return ""
        terms = {**_terms(found), "SHA-256": found.hash}
        rows = [
            [esc(name), spread(value, span) if value != text.NONE else NONE, n]
            for name, value, span, n in _rows(report)
        ]
        items = "".join(f"<li>{esc(_sentence(deviation))}</li>" for deviation in found.deviations)
        listed = f"<ul>{items}</ul>" if items else ""
        header = ["Agent", esc(_primary(report)), "n"]
        drawn = definitions(terms) + lead(_outcome(found)) + listed + table("What was declared to decide", header, rows)
        pairs = [[esc(name), n, spread(value, span), esc(p)] for name, n, value, span, p in _pairs(report)]
        header = ["First minus second", "n", f"Difference of {esc(_primary(report))}", "p (Holm)"]
        return drawn + (table("Pairs by what was declared to decide", header, pairs) if pairs else "")

    def markdown(self, report: Report, data: Any) -> str:
        found = report.declared
        if found is None:
            return ""
        terms = ", ".join(f"{name} {value}" for name, value in _terms(found).items())
        told = f"## Declared protocol\n\n{pipes.escape(terms)}; SHA-256 `{found.hash}`. {_outcome(found)}"
        items = pipes.bullets(map(_sentence, found.deviations))
        rows = [[pipes.escape(name), value, span, n] for name, value, span, n in _rows(report)[:MAX_AGENTS]]
        span = f"{text.percent(report.context.level)} interval"
        drawn = pipes.table(["agent", pipes.escape(_primary(report)), span, "n"], rows)
        more = pipes.more(len(report.agents) - MAX_AGENTS, "agent")
        pairs = [[pipes.escape(name), *cells] for name, *cells in _pairs(report)[:MAX_AGENTS]]
        tested = pipes.table(["first minus second", "n", "difference", span, "p"], pairs) if pairs else ""
        return "\n\n".join(part for part in (told, items, drawn + more, tested) if part)

    def terminal(self, report: Report, data: Any) -> Iterable[Grid | str]:
        found = report.declared
        if found is not None:
            count = text.count(len(found.deviations), "deviation") if found.deviations else "no deviation"
            yield f"declared protocol: sha256 {found.hash[:SHORT]}, {count}"

    def keys(self, report: Report, data: Any) -> Mapping[str, Any]:
        found = report.declared
        if found is None:
            return {}
        keys = {**found.declare, "sha256": found.hash, "deviations": list(found.deviations)}
        pairs = [] if report.primary is None else [_pair_keys(report.primary, pair) for pair in report.primary.pairs]
        return {"declared": keys | ({"pairs": pairs} if pairs else {})}

    def opening(self, report: Report) -> str:
        found = report.primary
        if found is None or not found.pairs:
            return ""
        pair = found.pairs[0]
        different = [f"{pair.a} and {pair.b}" for pair in found.pairs if found.different(pair)]
        told = f"{text.listed(different, most=3)} differ" if different else "no two agents differ significantly"
        _, n, value, span, p = _pair(found, pair)
        words = f"{pair.a} minus {pair.b} {value}, {text.percent(found.level)} interval {span}, n {n}, p {p}"
        return f"By {_primary(report)}, which was declared to decide, {told} ({words})."

    def findings(self, report: Report) -> Iterable[Finding]:
        if report.declared is not None:
            for deviation in report.declared.deviations:
                short = report.declared.hash[:SHORT]
                yield Finding("caution", f"Deviation from the declared protocol ({short}): {deviation}.")


def _terms(found: Declared) -> dict[str, str]:
    declare = found.declare
    margin = "none" if declare["margin"] is None else f"{declare['margin']:g}"
    return {
        "decides": declare["primary"],
        "trials of each agent on each task": f"{declare['n']:,}",
        "alpha": f"{declare['alpha']:g}",
        "smallest difference that matters": margin,
    }


def _outcome(found: Declared) -> str:
    if not found.deviations:
        return "No deviation is known."
    return f"{text.count(len(found.deviations), 'deviation')} from what was declared:"


def _sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}."


def _primary(report: Report) -> str:
    primary = report.declared.declare["primary"] if report.declared else ""
    return {"success": "success rate", "score": "mean score"}.get(primary, primary)


def _rows(report: Report) -> list[tuple[str, str, str, str]]:
    """Agent, value, interval and n of what was declared to decide."""
    primary = report.declared.declare["primary"] if report.declared else ""
    return [(agent.agent, *_values(agent, primary)) for agent in report.agents]


def _values(agent: AgentReport, primary: str) -> tuple[str, str, str]:
    own = agent.overall.measure(primary)
    if primary == "success":
        return text.percent(own.value), text.percent_range(own.interval), f"{own.n:,}"
    return text.fixed(own.value, own.interval), text.span(own.interval), f"{own.n:,}"


def _pairs(report: Report) -> list[tuple[str, str, str, str, str]]:
    """Every two agents by the metric that was declared to decide; none where success or score do."""
    return [] if report.primary is None else [_pair(report.primary, pair) for pair in report.primary.pairs]


def _pair(found: Comparison, pair: Pair) -> tuple[str, str, str, str, str]:
    own = pair.score
    n = f"{pair.n_a:,}" if pair.paired else f"{pair.n_a:,}, {pair.n_b:,}"
    star = " *" if found.different(pair) else ""
    value, span = text.fixed(own.value, own.interval), text.span(own.interval)
    return f"{pair.a} − {pair.b}", n, value, span, p_value(own.p_adjusted) + star


def _pair_keys(found: Comparison, pair: Pair) -> dict[str, Any]:
    own = pair.score
    return {
        "a": pair.a,
        "b": pair.b,
        "paired": pair.paired,
        "n": pair.n_a,
        "difference": own.value,
        "interval": own.interval,
        "p": None if own.test is None else own.test.p_value,
        "p_adjusted": own.p_adjusted,
        "different": found.different(pair),
    }
