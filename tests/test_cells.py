"""Names from users in CSV, Markdown and HTML: they are shown, and never run, linked or drawn."""

from __future__ import annotations

import csv
import html
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from proctor import Run, config_from_dict, run_evaluation
from proctor.cells import FORMULAS, read, written
from proctor.report.draw.svg import beside
from proctor.report.formats.files import write_csv
from proctor.runs.outcomes.reading import read_csv
from proctor.runs.outcomes.rows import read_rows

HOSTILE = [
    "=cmd|' /C calc'!A0", "@SUM(A1)", "-1+2", "+1", "'=x", "[x](javascript:alert(1))", "<script>alert(2)</script>",
    "![i](http://e/x.png)", "`b`;c", "a|b", "<javascript:alert(3)>", '"><img src=x onerror=alert(4)>', "&lt;b&gt;",
    "\\[y](z)",
]  # fmt: skip


@given(st.text())
def test_what_is_written_is_read_back_and_is_no_formula(text):
    assert read(written(text)) == text
    assert written(text)[:1] not in set(FORMULAS)


@given(st.floats(allow_nan=False) | st.integers())
def test_numbers_stay_numbers(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    write_csv(path, ["x"], [[value]])
    assert float(path.read_text().splitlines()[1]) == float(value)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run in which everything that has a name has a hostile one."""
    agents = [{"name": name, "policy": "random", "group": "=g"} for name in HOSTILE]
    options = {"id": "CartPole-v1"}
    tasks = [{"suite": "gymnasium", "name": name, "options": options} for name in HOSTILE if "/" not in name]
    folder = tmp_path_factory.mktemp("hostile")
    keys = {"n_trials": 2, "max_episode_steps": 3, "workers": "inline", "output_root": str(folder), "loggers": ["csv"]}
    return run_evaluation(config_from_dict({"name": HOSTILE[5], "agents": agents, "tasks": tasks[:6], **keys}))


def test_no_cell_of_a_run_is_a_formula(run):
    files = sorted(run.path.glob("**/*.csv"))
    assert {"summary.csv", "report.csv"} <= {file.name for file in files}
    for file in files:
        with file.open(newline="") as opened:
            delimiter = csv.Sniffer().sniff(opened.readline(), ";,").delimiter
            rows = list(csv.reader(opened, delimiter=delimiter))
        wrong = [cell for row in rows for cell in row if cell[:1] in set(FORMULAS) and not _number(cell)]
        assert wrong == [], file


def _number(cell: str) -> bool:
    return re.fullmatch(r"[-+]?\d+(\.\d*)?(e[-+]?\d+)?", cell) is not None


def test_the_names_in_a_table_are_read_back_as_they_were_given(run, tmp_path):
    with (run.path / "summary.csv").open(newline="") as file:
        found = list(csv.DictReader(file, delimiter=";"))
    assert {read(row["agent"]) for row in found} == set(HOSTILE)
    assert {read(row["task"]) for row in found} == {task.name for task in run.config().tasks}
    path = tmp_path / "a.csv"
    write_csv(path, ["agent", "success"], [[name, 1] for name in HOSTILE])
    assert [row.result.trial.agent for row in read_rows(path, read_csv(path).raws, "task")] == HOSTILE


def test_the_table_of_trials_has_the_names_as_they_are(run):
    import duckdb

    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT DISTINCT agent FROM '{run.path / 'trials.parquet'}'").fetchall()
    assert {name for (name,) in found} == set(HOSTILE)


def test_a_name_makes_no_link_picture_or_element_in_markdown(run):
    shown = MarkdownIt("gfm-like", {"linkify": False}).render((run.path / "report.md").read_text())
    assert not re.search(r"<(a|img|script|code)\b", re.sub(r"<code>[\w. -]+</code>", "", shown)), shown
    text = re.sub(r"<[^>]+>", "", shown)
    for name in HOSTILE[:4]:
        assert name in html.unescape(text)


def test_a_name_makes_no_element_in_html(run):
    page = (run.path / "report.html").read_text()
    assert "<script>alert" not in page
    assert "onerror=alert(4)>" not in page.replace("&gt;", "")
    targets = re.findall(r'(?:href|src)="([^"]*)"', page)
    assert [target for target in targets if not target.startswith(("#", "trials/", "videos/", "data:image/"))] == []


def test_a_table_that_is_none_is_bad_input(tmp_path: Path):
    from proctor.errors import InputError

    path = tmp_path / "a.csv"
    path.write_text("agent,success\n" + "a" * 200_000 + ",1\n")
    with pytest.raises(InputError, match=r"a.csv, row 2: no row of a table: field larger than field limit"):
        read_csv(path)
    path.write_text("agent,success,seed\na,1,1e300\n")
    with pytest.raises(InputError, match=r"column seed: found .*, expected at most 9,000,000,000,000,000"):
        read_rows(path, read_csv(path).raws, "task")


@pytest.mark.parametrize(
    "path", ["javascript:alert(1)", "//elsewhere.example/x", "\\\\host\\x", 'a" onclick="x', "data:,x"]
)
def test_a_file_of_the_run_is_no_address_elsewhere(path):
    assert re.fullmatch(r"[\w%./-]+", beside(path))
    assert not beside(path).startswith("/")


def test_a_file_of_the_run_is_itself():
    assert beside("trials/a_trial0000_seed1.npz") == "trials/a_trial0000_seed1.npz"
