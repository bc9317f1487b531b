"""A comparison for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proctor.report import text
from proctor.report.build.judgement import difference_words, p_value
from proctor.verdict.comparison import Comparison, Measure, Pair

if TYPE_CHECKING:
    from rich.table import Table

MOST_PAIRS = 30


def standings_table(found: Comparison) -> Table:
    """Rank, agent, n, success and score, each with letters."""
    table = empty_table(
        f"[…]: {text.percent(found.level)} interval; letters: agents that share one are not significantly different"
    )
    table.add_column("rank", justify="right")
    table.add_column("agent", overflow="fold")
    for name in ("n", "success", "", "score", "", "unscored"):
        table.add_column(name, justify="left" if not name else "right", no_wrap=True)
    for agent in found.agents:
        table.add_row(
            *plain_cells(
                text.NONE if agent.rank is None else str(agent.rank),
                agent.agent,
                f"{agent.n:,}",
                f"{text.percent(agent.rate)} [{text.percent_range(agent.rate_interval)}]",
                agent.letters.get("success") or "",
                text.number(agent.score),
                agent.letters.get("score") or "",
                f"{agent.n_unscored:,}",
            )
        )
    return table


def pairs_table(found: Comparison) -> Table:
    """Differences with intervals and p-values, the first pairs."""
    hidden = len(found.pairs) - MOST_PAIRS
    more = f"; {text.count(hidden, 'more pair')} in compare.json" if hidden > 0 else ""
    table = empty_table(f"first minus second; p by Holm over all pairs{more}")
    table.add_column("pair", overflow="fold")
    for name in ("n", "success", "p", "score", "p"):
        table.add_column(name, justify="right", no_wrap=True)
    for pair in found.pairs[:MOST_PAIRS]:
        n = text.count(pair.n_a, "pair") if pair.paired else f"{pair.n_a:,}, {pair.n_b:,}"
        cells = [_cell(found, pair, measure) for measure in ("success", "score")]
        table.add_row(*plain_cells(f"{pair.a} − {pair.b}", n, *cells[0], *cells[1]))
    return table


def _cell(found: Comparison, pair: Pair, measure: Measure) -> tuple[str, str]:
    value, interval = difference_words(pair.of(measure))
    star = " *" if found.different(pair, measure) else ""
    span = "" if interval == text.NONE else f" [{interval}]"
    return value + span, p_value(pair.of(measure).p_adjusted) + star


def empty_table(caption: str) -> Table:
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, caption=caption, caption_justify="left", pad_edge=False)


def plain_cells(*cells: str) -> list:
    """Cells whose brackets are brackets."""
    from rich.text import Text

    return [Text(cell) for cell in cells]
