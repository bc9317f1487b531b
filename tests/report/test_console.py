"""Tables in a terminal: names can be read however narrow it is, and nothing is cut off."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from report_runs import make_run
from rich.console import Console

from proctor.record.batch import TrialBatch
from proctor.report import drawn_up
from proctor.report.console import LAYOUTS, Fitted, pairs_table, ranked_table, standings_table
from proctor.report.model import Report

AGENTS = ["ppo-humanoid-checkpoint-0012000", "ppo-humanoid-checkpoint-0024000", "baseline"]


@pytest.fixture
def report(tmp_path: Path) -> Report:
    run = make_run(AGENTS, ["reach", "push"], 20)
    return drawn_up(tmp_path, run.cfg, [TrialBatch.of(run.results)], run.context, tmp_path)[0]


def tables(report: Report) -> list[Fitted]:
    assert report.comparison is not None
    return [ranked_table(report), standings_table(report.comparison), pairs_table(report.comparison)]


def shown(table: Fitted, width: int) -> str:
    file = io.StringIO()
    Console(file=file, width=width).print(table)
    return file.getvalue()


def column(words: str, name: str) -> str:
    """What stands below a heading, without line breaks and without what begins in the next column."""
    lines = words.splitlines()
    top = next(i for i, line in enumerate(lines) if f" {name} " in line)
    start = lines[top].index(name)
    rest = lines[top][start + len(name) :]
    stop = start + len(name) + len(rest) - len(rest.lstrip())
    return "".join(re.sub(r"\s\d+( p.*)?$", "", line[start:stop]).strip() for line in lines[top + 2 :])


@pytest.mark.parametrize("width", [70, 80, 100, 160])
def test_names_can_be_read_at_every_width(report: Report, width: int) -> None:
    ranked, standings, pairs = (shown(table, width) for table in tables(report))
    for words in (ranked, standings):
        assert all(name in column(words, "agent") for name in AGENTS)
    assert all(name in column(pairs, "pair") for name in AGENTS)
    for words in (ranked, standings, pairs):
        assert max(map(len, words.splitlines())) <= width
        assert "… " not in words.replace("[…]", ""), "nothing is cut off"


def test_where_there_is_room_an_interval_stands_beside_its_value(report: Report) -> None:
    wide, narrow = (shown(ranked_table(report), width) for width in (160, 70))
    assert "85 % [68 % to 93 %]" in wide
    assert "85 % [68 % to 93 %]" not in narrow
    assert "[68 % to 93 %]" in narrow
    assert "left out here: steps" in narrow
    assert "left out" not in wide
    assert "unscored" in narrow, "one agent has an unscored trial"


def test_numbers_are_the_same_at_every_width(report: Report) -> None:
    def numbers(words: str) -> set[str]:
        return {word for word in words.replace("\n", " ").split() if word[:1].isdigit()}

    wide, narrow = (shown(ranked_table(report), width) for width in (160, 70))
    steps = {row.split()[-2] for row in wide.splitlines() if row.strip().startswith(("1 ", "2 ", "3 "))}
    assert numbers(wide) - steps <= numbers(narrow) | {"0012000", "0024000"}


def test_layouts_become_narrower(report: Report) -> None:
    for table in tables(report):
        widths = [table.width(layout) for layout in LAYOUTS]
        assert widths == sorted(widths, reverse=True)
        assert widths[0] > 100
        assert widths[-1] <= 56


def test_a_width_is_what_a_terminal_shows(report: Report) -> None:
    for table in tables(report):
        for layout in LAYOUTS[:1]:
            lines = shown(table, 300).splitlines()
            rule = next(line for line in lines if "──" in line)
            assert len(rule) == table.width(layout)
