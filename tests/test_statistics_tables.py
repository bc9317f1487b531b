"""The tables of docs/statistics.md are made by one command, and have a row for everything that it measures."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "statistics.md"


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
        monkeypatch.delitem(sys.modules, name)
    from benchmarks import statistics_tables

    return statistics_tables


def rows(page: str, table: str) -> list[list[str]]:
    found = re.search(rf"<!-- table: {table} -->\n(.*?)<!-- end of table -->", page, re.DOTALL)
    assert found is not None, table
    return [[cell.strip() for cell in line.strip("|\n").split("|")] for line in found[1].splitlines()[2:]]


def test_a_few_samples_write_every_table_with_its_rows(tables: Any, tmp_path: Path) -> None:
    copy = tmp_path / "page.md"
    copy.write_text(PAGE.read_text())
    tables.main(["--draws", "3", "--page", str(copy)])
    made, shown = copy.read_text(), PAGE.read_text()
    for name in ("coverage", "false alarms", "futility", "step simulated"):
        assert [row[0] for row in rows(made, name)] == [row[0] for row in rows(shown, name)], name
        assert rows(made, name)
    assert rows(made, "step recorded") == rows(shown, "step recorded"), "its files are not here"
    outside = [re.sub(r"(?<=-->\n)\|.*?(?=<!-- end)", "", page, flags=re.DOTALL) for page in (made, shown)]
    assert outside[0] == outside[1]


def test_the_page_shows_intervals_that_cover_and_tests_that_keep_their_level() -> None:
    page = PAGE.read_text()
    for name, of, *cells in rows(page, "coverage"):
        if not name.startswith("not to be done"):
            assert min(map(float, cells[1:])) >= 91, (name, of)
    for name, of, *cells in rows(page, "false alarms"):
        if not name.startswith("not to be done"):
            assert max(map(float, cells)) <= 7, (name, of)


def test_a_table_without_a_place_is_said(tables: Any) -> None:
    with pytest.raises(ValueError, match="the page has no place for the table coverage"):
        tables.rewritten("# A page\n", {"coverage": lambda: ""})


def test_recorded_outcomes_are_read_as_pairs_in_order(tables: Any, tmp_path: Path) -> None:
    setting = tables.step_setting.Setting("made up", (0.0, 1.0), 50, 0.05, "made_up.npy", 0)
    np.save(tmp_path / setting.file, np.array([[0.0, 1.0]] * 40))
    first = tables.step_setting.recorded(setting, tmp_path, "even")
    assert first is not None
    assert first <= tables.step_setting.recorded(setting, tmp_path, "late") < 20
    np.save(tmp_path / setting.file, np.array([[0.0, 0.0], [1.0, 1.0]] * 20))
    assert tables.step_setting.recorded(setting, tmp_path, "even") is None


def test_futility_ends_at_the_first_look_below_each_limit(tables: Any) -> None:
    hopeless = np.tile([1, -1], 50)
    assert tables.futile_ends(hopeless) == [(100, False), (50, False), (50, False), (50, False)]
    clear = np.ones(100, int)
    assert len(set(tables.futile_ends(clear))) == 1
