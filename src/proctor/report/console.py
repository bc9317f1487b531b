"""Ranked tables for a terminal: of a run, of a comparison, of a leaderboard."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from proctor.report import text
from proctor.report.build.judgement import difference_words, p_value
from proctor.report.leaderboard.words import episodes_words, score_words, task_words
from proctor.report.model import Report
from proctor.report.sections.differences import shown_measures
from proctor.report.sections.ranking import letters_of, ranking_words, standing_words
from proctor.report.text import span
from proctor.verdict.comparison import Comparison, Measure, Pair
from proctor.verdict.leaderboard import Leaderboard

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

MOST_PAIRS, MOST_TASKS = 30, 4
LEFT = ("agent", "pair", "method", "rater", "task", "tool", "best agent", "")
"""Columns whose cells are flush left."""


def ranked_table(report: Report) -> Table:
    """A run: rank, agent, n, success and score with their intervals (those that `Report.measures` says), steps,
    unscored trials. Letters are beside the last measure."""
    from rich.text import Text

    groups, measured = letters_of(report), ranking_words(report)
    width = max(map(len, groups.values()), default=-1) + 1
    rows = []
    for agent in report.agents:
        summary = agent.overall
        letters = f" {groups.get(agent.agent, '')}".ljust(width) if groups else ""
        spreads = [_spread(*measured[agent.agent][measure]) for measure in report.measures]
        rows.append(
            [
                text.rank(agent.rank),
                agent.agent,
                str(summary.n),
                *spreads[:-1],
                spreads[-1] + letters,
                text.number(summary.steps_total.mean),
                Text(str(summary.n_unscored), style="yellow" if summary.n_unscored else ""),
            ]
        )
    told = "; agents that share a letter are not significantly different" if groups else ""
    header = ("rank", "agent", "n", *report.measures, "steps", "unscored")
    return _table(f"[…]: {text.percent(report.context.level)} interval{told}", header, rows)


def below_ranking(report: Report) -> Iterator[Table | Text]:
    """What the sections of a report show in a terminal, in the order of the page. A section that fails at it is
    left out here; its own file says why."""
    from rich.text import Text

    for shown in report.sections:
        parts, _ = shown.made(lambda shown=shown: list(shown.section.terminal(report, shown.data)))
        for part in parts or ():
            yield Text(part) if isinstance(part, str) else _table(part.caption, part.header, part.rows)


def standings_table(found: Comparison) -> Table:
    """The agents of a comparison: rank, agent, n, and of success and score what is shown, each with letters."""
    shown, words = shown_measures(found), standing_words(found)
    rows = []
    for agent in found.agents:
        own = words[agent.agent]
        values = [cell for measure in shown for cell in (_spread(*own[measure]), agent.letters.get(measure) or "")]
        rows.append([text.rank(agent.rank), agent.agent, f"{agent.n:,}", *values, f"{agent.n_unscored:,}"])
    told = "letters: agents that share one are not significantly different"
    header = ("rank", "agent", "n", *(name for measure in shown for name in (measure, "")), "unscored")
    return _table(f"[…]: {text.percent(found.level)} interval; {told}", header, rows)


def pairs_table(found: Comparison) -> Table:
    """Differences with intervals and p-values, the first pairs."""
    hidden, shown = len(found.pairs) - MOST_PAIRS, shown_measures(found)
    more = f"; {text.count(hidden, 'more pair')} in compare.json" if hidden > 0 else ""
    rows = [
        [
            f"{pair.a} − {pair.b}",
            text.count(pair.n_a, "pair") if pair.paired else f"{pair.n_a:,}, {pair.n_b:,}",
            *(cell for measure in shown for cell in _difference(found, pair, measure)),
        ]
        for pair in found.pairs[:MOST_PAIRS]
    ]
    header = ("pair", "n", *(name for measure in shown for name in (measure, "p")))
    return _table(f"first minus second; p by Holm over all pairs{more}", header, rows)


def _difference(found: Comparison, pair: Pair, measure: Measure) -> tuple[str, str]:
    star = " *" if found.different(pair, measure) else ""
    return _spread(*difference_words(pair.of(measure))), p_value(pair.of(measure).p_adjusted) + star


def board_table(board: Leaderboard) -> Table:
    """A leaderboard: rank, agent, score with interval and letters, the first tasks, episodes."""
    hidden = len(board.tasks) - MOST_TASKS
    more = f"; {text.count(hidden, 'more task')} in leaderboard.md" if hidden > 0 else ""
    told = "letters: agents that share one are not significantly different"
    rows = [
        [
            text.rank(entry.rank),
            entry.agent,
            _spread(score, span(entry.interval)),
            entry.letters or "",
            *own[:MOST_TASKS],
            episodes_words(entry.n, entry.n_repeats),
        ]
        for entry, score, own in zip(board.entries, score_words(board), task_words(board), strict=True)
    ]
    folded = ("agent", *board.tasks[:MOST_TASKS], "episodes")
    header = ("rank", "agent", "score", "", *folded[1:])
    return _table(f"[…]: {text.percent(board.level)} interval; {told}{more}", header, rows, folded)


def _spread(value: str, interval: str) -> str:
    return value if interval == text.NONE else f"{value} [{interval}]"


def _table(
    caption: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    folded: Collection[str] = ("agent", "pair", "task"),
) -> Table:
    """A table in which brackets are brackets; cells of the columns in `folded` may take several lines."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, caption=caption, caption_justify="left", pad_edge=False)
    for name in header:
        justify = "left" if name in LEFT else "right"
        fold = "fold" if name in folded else "ellipsis"
        table.add_column(Text(name), justify=justify, overflow=fold, no_wrap=name != "rank" and name not in folded)
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table
