"""What a notebook shows of a run or a comparison: verdict, table, plots. No CSS but what stands at each element, so
that nothing of it meets the notebook's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from proctor.report import Report, text
from proctor.report.build.judgement import difference_words, p_value
from proctor.report.draw.svg import esc
from proctor.report.sections.differences import shown_measures
from proctor.report.sections.ranking import letters_of, ranking_words

if TYPE_CHECKING:
    from proctor.runs.run import Run, RunComparison

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
