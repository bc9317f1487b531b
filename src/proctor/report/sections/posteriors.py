"""Success rates as distributions: a violin for each agent, and who is better with which probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from proctor.report import text
from proctor.report.draw import pipes, svg
from proctor.report.draw.markup import figure_row, lead, rows_figure, table
from proctor.report.draw.svg import esc
from proctor.report.model import Report
from proctor.report.section import Section
from proctor.stats import Posterior, posterior, probability_best, probability_better

POINTS, TAIL, MOST_COMPARED, MOST_ROWS = 60, 5e-4, 12, 40


class PosteriorSection(Section):
    """The posterior of every agent's success rate; nothing unless the config says `report.posterior`."""

    key, title, place = "posterior", "Posterior of success", 42
    stylesheets = ("proctor.report/posterior.css",)

    def html(self, report: Report, data: Any) -> str:
        found = dict(list(posteriors(report).items())[:MOST_ROWS])
        if not found:
            return ""
        best = dict(zip(found, probability_best(list(found.values())), strict=True))
        rows = [
            figure_row(esc(agent), violin(own, report.context.level), _value(own, best[agent]), "row violin")
            for agent, own in found.items()
        ]
        spoken = "Posterior of the success rate. " + "; ".join(
            f"{agent}: mean {text.percent(own.mean)}, best with {chance_words(best[agent])}"
            for agent, own in found.items()
        )
        axis = svg.axis_row(svg.unit_axis(), "success rate", text.percent)
        figure = rows_figure("Success rate: mean, and probability to be the best", rows, axis, spoken, "posterior")
        return lead(_words(report)) + figure + _versus(found)

    def markdown(self, report: Report, data: Any) -> str:
        found = dict(list(posteriors(report).items())[:MOST_ROWS])
        if not found:
            return ""
        best = probability_best(list(found.values()))
        rows = [
            [
                pipes.escape(agent),
                text.percent(own.mean),
                text.percent_range(own.interval(report.context.level)),
                chance_words(chance),
            ]
            for (agent, own), chance in zip(found.items(), best, strict=True)
        ]
        header = ["agent", "mean", f"{text.percent(report.context.level)} interval", "best with probability"]
        return f"## Posterior of success\n\n{_words(report)}\n\n" + pipes.table(header, rows)

    def keys(self, report: Report, data: Any) -> Mapping[str, Any]:
        found = posteriors(report)
        if not found:
            return {}
        best = probability_best(list(found.values()))
        agents = [
            {
                "agent": agent,
                "beta": (own.a, own.b),
                "mean": own.mean,
                "interval": own.interval(report.context.level),
                "best": chance,
                "density": {name: values.tolist() for name, values in zip(("rate", "value"), curve(own), strict=True)},
            }
            for (agent, own), chance in zip(found.items(), best, strict=True)
        ]
        return {"posterior": {"prior": "Beta(0.5, 0.5)", "level": report.context.level, "agents": agents}}


def posteriors(report: Report) -> dict[str, Posterior]:
    """Of every agent with a success rate, in rank order; empty where the config does not ask for them."""
    if not report.config["report"]["posterior"]:
        return {}
    rates = {agent.agent: agent.overall.success for agent in report.agents}
    return {agent: posterior(rate.successes, rate.n) for agent, rate in rates.items() if rate.rate is not None}


def _words(report: Report) -> str:
    pooled = " of a trial on any of the tasks, as often as each was run" if len(report.tasks) > 1 else ""
    level = text.percent(report.context.level)
    return (
        f"What is known of each success rate{pooled}, after its scored trials and with Jeffreys' prior: the wider a "
        f"shape, the likelier the rate. The bar is the {level} interval, the dot the mean. The probabilities do not "
        "use that trials are paired, and are not corrected for many agents or for stopping early."
    )


def curve(own: Posterior) -> tuple[np.ndarray, np.ndarray]:
    """Rates, and the mean density around each of them: it is finite where that at a rate of 0 or 1 is not."""
    edges = np.linspace(own.quantile(TAIL), own.quantile(1 - TAIL), POINTS + 1)
    below = np.array([1 - own.above(edge) for edge in edges])
    return (edges[1:] + edges[:-1]) / 2, np.diff(below) / np.diff(edges)


def violin(own: Posterior, level: float) -> str:
    """The density to both sides of a row, with the interval and the mean."""
    rates, density = curve(own)
    half = 48 * density / density.max()
    above = [f"{100 * rate:.3f},{50 - part:.2f}" for rate, part in zip(rates, half, strict=True)]
    below = [f"{100 * rate:.3f},{50 + part:.2f}" for rate, part in zip(rates[::-1], half[::-1], strict=True)]
    box = '<svg x="3%" width="94%" height="100%" viewBox="0 0 100 100" preserveAspectRatio="none">'
    shape = f'{box}<polygon class="density" points="{" ".join(above + below)}"/></svg>'
    axis, ends = svg.unit_axis(), own.interval(level)
    bar = f'<line class="interval" x1="{axis.x(ends.low)}" x2="{axis.x(ends.high)}" y1="50%" y2="50%"/>'
    return svg.track(axis, f'{shape}{bar}<circle class="dot" cx="{axis.x(own.mean)}" cy="50%" r="4"/>')


def _value(own: Posterior, best: float) -> str:
    return f'{text.percent(own.mean)} <span class="span">best: {esc(chance_words(best))}</span>'


def chance_words(chance: float) -> str:
    """Without a certainty that no trials give."""
    if 0.001 <= chance <= 0.999:
        return text.percent(chance)
    return "< 0.1 %" if chance < 0.5 else "> 99.9 %"


def _versus(found: Mapping[str, Posterior]) -> str:
    """Who is better than whom; "" for one agent, and the first ones only where there are many."""
    names: Sequence[str] = list(found)[:MOST_COMPARED]
    if len(names) < 2:
        return ""
    rows = [
        [esc(a), *("" if a == b else esc(chance_words(probability_better(found[a], found[b]))) for b in names)]
        for a in names
    ]
    return table(
        "Probability that the agent of a row is better than that of a column", ["Agent", *map(esc, names)], rows
    )
