"""Ranked tables for a terminal: of a run, of a comparison, of a leaderboard."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
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
    from rich.console import Console, ConsoleOptions
    from rich.table import Table
    from rich.text import Text

MOST_PAIRS, MOST_TASKS = 30, 4
LEFT = ("agent", "pair", "method", "rater", "task", "tool", "best agent", "")
"""Columns whose cells are flush left; all but the last hold names."""
NAME = 16
"""Letters of a name that have room in a narrow terminal."""


def ranked_table(report: Report) -> Fitted:
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
    caption = f"[…]: {text.percent(report.context.level)} interval{told}"
    return _table(caption, header, rows, spare=("steps", "unscored"))


def below_ranking(report: Report) -> Iterator[Fitted | Text]:
    """What the sections of a report show in a terminal, in the order of the page. A section that fails at it is
    left out here; its own file says why."""
    from rich.text import Text

    for shown in report.sections:
        parts, _ = shown.made(lambda shown=shown: list(shown.section.terminal(report, shown.data)))
        for part in parts or ():
            yield Text(part) if isinstance(part, str) else _table(part.caption, part.header, part.rows)


def standings_table(found: Comparison) -> Fitted:
    """The agents of a comparison: rank, agent, n, and of success and score what is shown, each with letters."""
    shown, words = shown_measures(found), standing_words(found)
    rows = []
    for agent in found.agents:
        own = words[agent.agent]
        values = [cell for measure in shown for cell in (_spread(*own[measure]), agent.letters.get(measure) or "")]
        rows.append([text.rank(agent.rank), agent.agent, f"{agent.n:,}", *values, f"{agent.n_unscored:,}"])
    told = "letters: agents that share one are not significantly different"
    header = ("rank", "agent", "n", *(name for measure in shown for name in (measure, "")), "unscored")
    return _table(f"[…]: {text.percent(found.level)} interval; {told}", header, rows, spare=("unscored",))


def pairs_table(found: Comparison) -> Fitted:
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


def board_table(board: Leaderboard) -> Fitted:
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
    spare: Collection[str] = (),
) -> Fitted:
    """A table in which brackets are brackets; cells of the columns in `folded` may take several lines, those in `spare`
    may be left out."""
    return Fitted(caption, tuple(header), [list(row) for row in rows], frozenset(folded), frozenset(spare))


@dataclass(frozen=True)
class Layout:
    """How a table is set. `lines`: an interval stands beside its value (1), below it (2), or with an end on each of two
    lines (3). `gap`: spaces between columns. `spare`: with the columns that say the least. `name`: how many letters of
    a name have room; a longer one takes several lines."""

    lines: int = 1
    gap: int = 3
    spare: bool = True
    name: int = 1000


LAYOUTS = (
    Layout(),
    Layout(name=NAME),
    Layout(lines=2, name=NAME),
    Layout(lines=2, gap=1, name=NAME),
    Layout(lines=2, gap=1, spare=False, name=NAME),
    Layout(lines=3, gap=1, spare=False, name=NAME // 2),
)
"""From the widest to the narrowest."""


@dataclass(frozen=True)
class Fitted:
    """A table that keeps its names readable in a narrow terminal: it takes the first of the layouts that fits. What is
    left out, the caption tells."""

    caption: str
    header: tuple[str, ...]
    rows: Sequence[Sequence[str | Text]]
    folded: frozenset[str]
    spare: frozenset[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        fitting = (layout for layout in LAYOUTS if self.width(layout) <= options.max_width)
        yield self._table(next(fitting, LAYOUTS[-1]))

    def width(self, layout: Layout) -> int:
        """How many columns of a terminal the table takes."""
        widths = [self._widest(place, layout) for place in self._kept(layout)]
        return sum(widths) + layout.gap * (len(widths) - 1) + 2

    def _widest(self, place: int, layout: Layout) -> int:
        name = self.header[place]
        cells = [len(line) for row in self.rows for line in str(_cell(row[place], layout.lines)).split("\n")]
        widest = max(cells, default=0)
        return max(len(name), min(widest, layout.name) if name in self.folded else widest)

    def _kept(self, layout: Layout) -> list[int]:
        return [place for place in range(len(self.header)) if layout.spare or not self._is_spare(place)]

    def _is_spare(self, place: int) -> bool:
        """A column that can be done without; that of unscored trials only where there are none."""
        name = self.header[place]
        return name in self.spare and (name != "unscored" or all(str(row[place]) == "0" for row in self.rows))

    def _table(self, layout: Layout) -> Table:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        kept = self._kept(layout)
        left_out = [name for place, name in enumerate(self.header) if place not in kept]
        caption = self.caption + (f"; left out here: {', '.join(left_out)}" if left_out else "")
        side = (layout.gap - 1) // 2
        table = Table(
            box=box.SIMPLE_HEAD, caption=caption, caption_justify="left", pad_edge=False, padding=(0, side, 0, side)
        )
        for place in kept:
            name = self.header[place]
            table.add_column(
                Text(name),
                justify="left" if name in LEFT else "right",
                overflow="fold" if name in self.folded else "ellipsis",
                no_wrap=name != "rank" and name not in self.folded,
                min_width=self._widest(place, layout) if name in self.folded else None,
            )
        for row in self.rows:
            table.add_row(*(_cell(row[place], layout.lines) for place in kept))
        return table


def _cell(cell: str | Text, lines: int) -> Text:
    """A cell as text, with an interval on a line or two of its own; what follows it, such as letters, stays beside the
    value."""
    from rich.text import Text

    if not isinstance(cell, str):
        return cell
    value, bracket, rest = cell.partition(" [")
    if lines == 1 or not bracket:
        return Text(cell)
    interval, _, letters = rest.partition("]")
    if lines == 3:
        interval = interval.replace(" to ", "\nto ")
    return Text(f"{value}{letters}\n[{interval}]")
