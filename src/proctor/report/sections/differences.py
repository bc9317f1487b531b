"""Differences between agents: intervals, tests, wins and losses by task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proctor.report import text
from proctor.report.build.judgement import difference_words, p_value
from proctor.report.draw import pipes, svg
from proctor.report.draw.markup import NONE, figure_row, lead, small, table
from proctor.report.draw.svg import esc
from proctor.report.model import Report
from proctor.report.section import Section
from proctor.verdict.comparison import MEASURES, Comparison, Difference, Measure, Pair, TaskDifference

MOST_ROWS, MOST_OPEN, MOST_DRAWN, MOST_TASKS, MAX_PAIRS = 60, 8, 15, 40, 15
EFFECTS = {"paired_d": "d", "cliffs_delta": "δ", "paired_odds_ratio": "odds", "odds_ratio": "odds"}
"""Effect sizes that are shown, and as what; a difference of rates is its own."""


class Differences(Section):
    """Every pair of agents: differences with their intervals, tests, wins and losses by task."""

    key, title, place = "differences", "Differences", 50
    stylesheets = ("proctor.report/comparison.css",)

    def html(self, report: Report, data: Any) -> str:
        return differences(report.comparison)

    def markdown(self, report: Report, data: Any) -> str:
        return differences_markdown(report.comparison) if report.comparison else ""


def differences(found: Comparison | None) -> str:
    """The whole section; "" without pairs."""
    if found is None or not found.pairs:
        return ""
    plots = "".join(_plot(found, measure) for measure in shown_measures(found))
    return f'{lead(_words(found))}<div class="pair">{plots}</div>{_table(found)}{_by_task(found)}'


def _words(found: Comparison) -> str:
    paired = all(pair.paired for pair in found.pairs)
    how = "Each pair of trials had the same task and seed. " if paired else ""
    estimand = "; ".join(dict.fromkeys(pair.estimand for pair in found.pairs))
    return (
        f"{how}{estimand}. A difference is clear where its {text.percent(found.level)} interval leaves out 0; whether "
        "it counts among all pairs is for p to say, which is Holm's: the chance of any false difference stays below "
        f"{text.percent(1 - found.level)}."
    )


def shown_measures(found: Comparison) -> tuple[Measure, ...]:
    """Success alone where scores say the same, pair by pair; scores alone where nothing says what success is."""
    if all(pair.success.value is None for pair in found.pairs):
        return ("score",)
    same = all(
        (pair.score.value, pair.score.interval) == (pair.success.value, pair.success.interval) for pair in found.pairs
    )
    return ("success",) if same else MEASURES


def _plot(found: Comparison, measure: Measure) -> str:
    pairs = [pair for pair in found.pairs if pair.of(measure).value is not None][:MOST_DRAWN]
    if not pairs:
        return ""
    own = [pair.of(measure) for pair in pairs]
    points = [0.0, *(end for d in own for end in (d.value or 0.0, *(d.interval or ()), *(d.bounds or ())))]
    low, high = min(points), max(points)
    axis = svg.round_axis(low, high) if low < high else svg.round_axis(-0.1, 0.1)
    title, scale = ("Success, in points", 100) if measure == "success" else ("Score", 1)
    name = f"difference in {'success rate (points)' if measure == 'success' else 'mean score'}"
    ticks = svg.axis_row(axis, name, lambda tick: f"{scale * tick:.3g}".replace("-", "−"))
    spoken = "; ".join(f"{p.a} minus {p.b} {difference_words(p.of(measure))[0]}" for p in pairs)
    label = esc(f"{title}: {spoken}. The numbers are in the table below.")
    rows = "".join(_row(found, pair, measure, axis) for pair in pairs) + figure_row("", ticks, "", "row axis").rstrip()
    opened = f'<figure class="versus"><figcaption>{title}: first minus second</figcaption>'
    return f'{opened}<div role="img" aria-label="{label}">{rows}</div></figure>'


def _row(found: Comparison, pair: Pair, measure: Measure, axis: svg.Axis) -> str:
    own = pair.of(measure)
    track = svg.interval_row(axis, own.value, own.interval, own.bounds)
    track = track.replace('height="100%">', f'height="100%">{svg.upright("zero", axis.x(0))}', 1)
    kind = "row clear" if found.different(pair, measure) else "row"
    return figure_row(_names(pair), track, difference_words(own)[0].removesuffix(" points"), kind)


def _names(pair: Pair) -> str:
    return f'{esc(pair.a)} <span class="less">−</span> {esc(pair.b)}'


def _table(found: Comparison) -> str:
    shown = shown_measures(found)
    success = ["Success", "p", "Won alone"] if "success" in shown else []
    scores = ["Score", "p"] if "score" in shown else []
    header = ["First − second", "n", *success, *scores, "Effect"]
    rows = [_cells(found, pair) for pair in found.pairs[:MOST_ROWS]]
    hidden = len(found.pairs) - MOST_ROWS
    more = lead(f"Only in the JSON file: {text.count(hidden, 'more pair')}.") if hidden > 0 else ""
    return _folded("Every pair: differences with intervals and tests", header, rows, "versus") + more + _methods(found)


def _folded(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], kind: str) -> str:
    """A table whose rows beyond the first are behind a fold."""
    shown, rest = (rows, []) if len(rows) <= MOST_OPEN + 2 else (rows[:MOST_OPEN], rows[MOST_OPEN:])
    drawn = table(caption, header, shown, kind)
    if not rest:
        return drawn
    folded = table(f"{caption}, more", header, rest, kind)
    return f"{drawn}<details><summary>{text.count(len(rest), 'more pair')}</summary>{folded}</details>"


def _cells(found: Comparison, pair: Pair) -> list[str]:
    pairs = f"{pair.n_a:,} {small('pair' if pair.n_a == 1 else 'pairs')}"
    counts = pair.discordance
    alone = NONE if counts is None else f"{counts.only_a:,} : {counts.only_b:,}"
    shown = shown_measures(found)
    success = [_spread(pair.success), _p(found, pair, "success"), alone]
    return [
        _names(pair),
        pairs if pair.paired else f"{pair.n_a:,}, {pair.n_b:,} {small('unpaired')}",
        *(success if "success" in shown else []),
        *([_spread(pair.score), _p(found, pair, "score")] if "score" in shown else []),
        _effect(pair),
    ]


def _spread(own: Difference) -> str:
    value, interval = difference_words(own)
    if value == text.NONE:
        return NONE
    bounds = "" if own.bounds is None else f", bounds {difference_bounds(own)}"
    return f"{esc(value)} {small((interval if own.interval else 'no interval') + bounds)}"


def difference_bounds(own: Difference) -> str:
    """Where the difference could lie, had the unscored trials been scored."""
    if own.bounds is None:
        return text.NONE
    return f"{100 * own.bounds.low:.0f} to {100 * own.bounds.high:.0f}".replace("-", "−")


def _p(found: Comparison, pair: Pair, measure: Measure) -> str:
    words = esc(p_value(pair.of(measure).p_adjusted))
    return f"<b>{words}</b>" if found.different(pair, measure) else words


def _effect(pair: Pair) -> str:
    known = {**pair.success.effects, **pair.score.effects}
    shown = [f"{sign} {_two_digits(known[name])}" for name, sign in EFFECTS.items() if name in known]
    return esc(", ".join(shown).replace("-", "−")) or NONE


def _two_digits(value: float) -> str:
    return text.number(round(value, 2), 2) if abs(value) < 1 else text.number(value, 2)


def _methods(found: Comparison) -> str:
    methods = sorted(
        {
            f"{measure}: {own.test.method}, {own.method if own.interval else 'no interval'}"
            for pair in found.pairs
            for measure in shown_measures(found)
            if (own := pair.of(measure)).test is not None
        }
    )
    reasons = sorted({str(own.reason) for pair in found.pairs if (own := pair.score).reason})
    said = f"How: {'; '.join(methods)}." + (f" No score interval where {'; '.join(reasons)}." if reasons else "")
    return lead(said)


def _by_task(found: Comparison) -> str:
    pairs = [pair for pair in found.pairs if pair.paired][:MOST_DRAWN]
    if not pairs:
        return ""
    tasks = found.tasks[:MOST_TASKS]
    header = ["First − second", *(esc(task) for task in tasks)]
    own = [{task.task: task for task in pair.tasks} for pair in pairs]
    rows = [[_names(p), *(_wins(of.get(task)) for task in tasks)] for p, of in zip(pairs, own, strict=True)]
    return _folded("Pairs won, tied and lost by the first, by score (by success without one)", header, rows, "wins")


def _wins(task: TaskDifference | None) -> str:
    if task is None or task.wins is None or not task.n:
        return NONE
    parts, at = [], 0.0
    for kind, count in (("win", task.wins), ("tie", task.ties or 0), ("loss", task.losses or 0)):
        share = 100 * count / task.n
        parts.append(f'<rect class="{kind}" x="{at:.2f}%" width="{share:.2f}%" y="0" height="8"/>')
        at += share
    drawn = f'<svg class="stack" width="100%" height="8" aria-hidden="true">{"".join(parts)}</svg>'
    return f"{task.wins} : {task.ties} : {task.losses}{drawn}"


def differences_markdown(found: Comparison) -> str:
    """The first pairs, as a section; "" without any."""
    if not found.pairs:
        return ""
    level = text.percent(found.level)
    shown = shown_measures(found)
    header = ["difference", "n", *(name for measure in shown for name in (measure, f"{level} interval", "p"))]
    rows = [
        [
            f"{pipes.escape(pair.a)} − {pipes.escape(pair.b)}",
            text.count(pair.n_a, "pair") if pair.paired else f"{pair.n_a:,}, {pair.n_b:,}",
            *(cell for measure in shown for cell in _markdown_cells(pair.of(measure))),
        ]
        for pair in found.pairs[:MAX_PAIRS]
    ]
    more = pipes.more(len(found.pairs) - MAX_PAIRS, "pair", "the HTML file")
    words = "p is Holm's over all pairs. Agents that share a letter in the ranking are not significantly different."
    return f"## Differences\n\n{words}\n\n" + pipes.table(header, rows) + more


def _markdown_cells(own: Difference) -> list[str]:
    value, interval = difference_words(own)
    bounds = f" (bounds {difference_bounds(own)})" if own.bounds else ""
    return [value, interval + bounds, p_value(own.p_adjusted).replace("<", "&lt;")]
