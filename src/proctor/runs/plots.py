"""The drawings of a run, and what a notebook shows of a run or a comparison: verdict, table, plots. No CSS but what
stands at each element, so that nothing of it meets the notebook's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from proctor.errors import InputError
from proctor.registry import did_you_mean
from proctor.report import Report, text
from proctor.report.build.judgement import difference_words, p_value
from proctor.report.draw.alone import Drawing, Row, intervals, lines
from proctor.report.draw.svg import esc
from proctor.report.sections.differences import shown_measures
from proctor.report.sections.ranking import letters_of, ranking_words
from proctor.verdict.comparison import Comparison, Measure

if TYPE_CHECKING:
    from proctor.runs.run import Run, RunComparison


MOST = 40


class Plots:
    """Made of a run's report when they are asked for."""

    def __init__(self, run: Run, report: Report):
        self._run, self._report = run, report

    def scores(self) -> Drawing:
        """Mean score of every agent, with its interval."""
        return self._ranking("score")

    def success(self) -> Drawing:
        """Success rate of every agent, with its interval. Raises InputError where nothing says what success is."""
        if not self._report.defines_success:
            raise InputError(
                "nothing says what success is on these tasks; say it with success=..., such as success=475 for a "
                "return to reach, or plot scores()"
            )
        return self._ranking("success")

    def differences(self, measure: Measure | None = None) -> Drawing:
        """Differences between agents with their intervals. Raises InputError for a run with one agent."""
        found = self._report.comparison
        if found is None:
            raise InputError("differences need two agents with scored trials; compare runs with run.compare(other)")
        return differences(found, measure)

    def signal(self, which: Any, name: str = "reward") -> Drawing:
        """A recorded array of a trial over its steps, each column a line."""
        result = self._run.trial(which)
        arrays = self._run.signals(result)
        if name not in arrays:
            known = ", ".join(sorted(arrays))
            raise InputError(f'trial {result.trial.key} has no "{name}"{did_you_mean(name, arrays)}; it has {known}')
        values = np.asarray(arrays[name], float)
        columns = values.reshape(len(values), -1)
        named = [(name if columns.shape[1] == 1 else f"{name}[{i}]", columns[:, i]) for i in range(columns.shape[1])]
        return lines(f"{name} of {result.trial.key}", "step", named[:MOST])

    def _ranking(self, measure: Measure) -> Drawing:
        words = ranking_words(self._report)
        rows = []
        for agent in self._report.agents[:MOST]:
            found = agent.overall.measure(measure)
            value, _ = words[agent.agent].get(measure, ("", ""))
            rows.append(Row(agent.agent, found.value, found.interval, f"{value}, n {found.n:,}"))
        unit = self._report.scoring.unit if measure == "score" else ""
        title = {"score": f"Mean {self._report.scoring.name}", "success": "Success rate"}[measure]
        return intervals(f"{title} [{unit}]" if unit else title, rows)


def differences(found: Comparison, measure: Measure | None = None) -> Drawing:
    """Every pair of a comparison: first minus second."""
    of = measure or shown_measures(found)[0]
    rows = [
        Row(f"{p.a} − {p.b}", p.of(of).value, p.of(of).interval, difference_words(p.of(of))[0])
        for p in found.pairs[:MOST]
    ]
    return intervals(f"Difference in {of}, first minus second", rows, zero=True)


MOST_ROWS = 20
_CELL = "padding:2px 12px 2px 0;text-align:{side}"


def run_html(run: Run, report: Report) -> str:
    """A run. Everything that comes from a config or a result is escaped."""
    if not report.finished:
        return f"<p>{esc(run.path)}: no trial is finished</p>"
    groups, words = letters_of(report), ranking_words(report)
    rows = []
    for agent in report.agents[:MOST_ROWS]:
        spreads = [_spread(*words[agent.agent][measure]) for measure in report.measures]
        letters = [groups.get(agent.agent, "")] if groups else []
        steps, unscored = text.number(agent.overall.steps_total.mean), f"{agent.overall.n_unscored:,}"
        rows.append([text.rank(agent.rank), agent.agent, f"{agent.overall.n:,}", *spreads, *letters, steps, unscored])
    header = ["rank", "agent", "n", *report.measures, *([""] if groups else []), "steps", "unscored"]
    told = f"[…]: {text.percent(report.context.level)} interval"
    told += "; agents that share a letter are not significantly different" if groups else ""
    drawn = [(run.plot.success if measure == "success" else run.plot.scores)().svg for measure in report.measures]
    if report.comparison is not None and report.comparison.pairs:
        drawn.append(run.plot.differences().svg)
    cautions = [finding.text for finding in report.findings if finding.level == "caution"]
    return _page(report.verdict, [_table(header, rows, told)], drawn, [*cautions], str(run.path))


def comparison_html(found: RunComparison) -> str:
    comparison = found.comparison
    shown = shown_measures(comparison)
    rows = [
        [
            f"{pair.a} − {pair.b}",
            text.count(pair.n_a, "pair") if pair.paired else f"{pair.n_a:,}, {pair.n_b:,}",
            *(
                cell
                for measure in shown
                for cell in (_spread(*difference_words(pair.of(measure))), p_value(pair.of(measure).p_adjusted))
            ),
        ]
        for pair in comparison.pairs[:MOST_ROWS]
    ]
    header = ["pair", "n", *(name for measure in shown for name in (measure, "p"))]
    table = _table(header, rows, "first minus second; p by Holm over all pairs")
    return _page(found.verdict, [table], [found.plot().svg], found.cautions, "")


def _page(verdict: str, tables: Sequence[str], drawn: Sequence[str], cautions: Sequence[str], where: str) -> str:
    said = "".join(f'<li style="color:#b7791f">{esc(caution)}</li>' for caution in cautions)
    listed = f"<ul>{said}</ul>" if said else ""
    foot = f'<p style="opacity:.7"><code>{esc(where)}</code></p>' if where else ""
    return f"<div><p><b>{esc(verdict)}</b></p>{listed}{''.join(tables)}{'<br>'.join(drawn)}{foot}</div>"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    sides = ["left" if name in ("agent", "pair") else "right" for name in header]
    head = "".join(_cell("th", cell, side) for cell, side in zip(header, sides, strict=True))
    body = "".join(
        f"<tr>{''.join(_cell('td', cell, side) for cell, side in zip(row, sides, strict=True))}</tr>" for row in rows
    )
    told = f'<caption style="caption-side:bottom;text-align:left;opacity:.7">{esc(caption)}</caption>'
    return f"<table>{told}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(tag: str, words: str, side: str) -> str:
    return f'<{tag} style="{_CELL.format(side=side)}">{esc(words)}</{tag}>'


def _spread(value: str, interval: str) -> str:
    return value if interval == text.NONE else f"{value} [{interval}]"
