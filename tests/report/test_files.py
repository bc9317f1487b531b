import csv
import dataclasses
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import duckdb
import pytest

from proctor.record.batch import batched
from proctor.report import build_report, write_reports
from proctor.report.console import ranked_table
from proctor.report.draw.palette import SCALES, STEPS, _between, _parse, contrast, heat_rules
from proctor.report.formats.files import replacing
from proctor.report.formats.pages import escape, to_html, to_markdown

FILES = ("summary.csv", "trials.parquet", "report.json", "report.csv", "report.md", "report.html")
NASTY = ["<script>alert('x')</script>", 'α | `b` & "c"; d', "a_b*c[d](e)"]
KNOWN = """
agent checkpoint trial seed success steps_total steps_to_success episode_reward wall_time_s sim_time_s score npz_path
task outcome attempts case clipped_steps max_steps error after_stop
""".split()  # noqa: SIM905


def write(run, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    write_reports(folder, run.cfg, batched(run.results), run.context)
    return folder


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter=";"))


def test_equal_results_give_equal_bytes(run, tmp_path) -> None:
    one, two = write(run, tmp_path / "one"), write(run, tmp_path / "two")
    names = {path.name for path in one.iterdir()}
    assert names >= set(FILES)
    for name in names:
        assert (one / name).read_bytes() == (two / name).read_bytes(), name


def test_summary_has_the_common_columns_first_and_a_row_per_trial(run, tmp_path) -> None:
    table = rows(write(run, tmp_path) / "summary.csv")
    assert list(table[0])[: len(KNOWN)] == KNOWN
    further = list(table[0])[len(KNOWN) :]
    scores = [name for name in further if name.startswith("score_")]
    assert further == [*scores, *sorted(run.results[0].metrics)]
    assert len(table) == len(run.results)
    for row, result in zip(table, run.results, strict=True):
        assert (row["agent"], row["task"], int(row["trial"])) == (
            result.trial.agent,
            result.trial.task,
            result.trial.index,
        )
        assert row["success"] == ("" if not result.outcome.scored else str(int(result.success)))
        assert row["steps_to_success"] == str(result.steps_to_success or "")
        assert float(row["tip_speed_max_mm_s"]) == result.metrics["tip_speed_max_mm_s"]
        assert "\n" not in row["error"]


def test_parquet_holds_the_same_values_typed(build, tmp_path) -> None:
    run = build(NASTY, ["a;b", 'c"d'], 4, faults=0.3)
    folder = write(run, tmp_path / "odd [1] 'x'")
    table = rows(folder / "summary.csv")
    with duckdb.connect() as connection:
        relation = connection.execute(
            "SELECT * FROM read_parquet(?)", [str(folder / "trials.parquet").replace("[", "[[]")]
        )
        names = [column[0] for column in relation.description]
        typed = [dict(zip(names, row, strict=True)) for row in relation.fetchall()]
    assert names == list(table[0])
    for plain, row in zip(table, typed, strict=True):
        for name, value in row.items():
            assert plain[name] == ("" if value is None else str(value)), name
    assert {type(row["seed"]) for row in typed} == {int}
    assert {type(row["score"]) for row in typed} <= {float, type(None)}


def test_a_metric_named_like_a_column_keeps_both(build, tmp_path) -> None:
    run = build(["a"], ["t"], 3, faults=0)
    results = [dataclasses.replace(r, metrics={"seed": 0.5, "score": 2.5}) for r in run.results]
    row = rows(write(dataclasses.replace(run, results=results), tmp_path) / "summary.csv")[0]
    assert (row["seed"], row["metric_seed"], row["metric_score"]) == ("123", "0.5", "2.5")


def test_report_json_is_strict_json(run, tmp_path) -> None:
    def refuse(word: str) -> None:
        raise AssertionError(word)

    results = [dataclasses.replace(r, metrics={"tip_speed_max_mm_s": float("inf")}) for r in run.results]
    folder = write(dataclasses.replace(run, results=results), tmp_path)
    data = json.loads((folder / "report.json").read_text(), parse_constant=refuse)
    assert [agent["agent"] for agent in data["agents"]] == ["expert", "student", "random"]
    assert data["agents"][0]["metrics"]["tip_speed_max_mm_s"]["value"] is None
    assert {cell["task"] for cell in data["agents"][0]["tasks"]} == {"reach", "push", "insert"}


def test_report_csv_agrees_with_report_json(run, tmp_path) -> None:
    folder = write(run, tmp_path)
    data = json.loads((folder / "report.json").read_text())
    for row, agent in zip(rows(folder / "report.csv"), data["agents"], strict=True):
        assert float(row["score_mean"]) == agent["score_mean"]
        assert [float(row["score_low"]), float(row["score_high"])] == agent["score"]["interval"]
        assert int(row["rank"]) == agent["rank"]


def test_a_failed_write_leaves_the_old_file(tmp_path) -> None:
    path = tmp_path / "report.md"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError), replacing(path) as temporary:
        temporary.write_text("half \udc80", encoding="utf-8")
    assert [p.name for p in tmp_path.iterdir()] == ["report.md"]
    assert path.read_text() == "old"


class Page(HTMLParser):
    def __init__(self, source: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def page(run) -> Page:
    return Page(to_html(build_report(run.cfg, run.results, run.context)))


@pytest.mark.parametrize(
    ("agents", "tasks", "n", "faults"),
    [
        (["a"], ["t"], 1, 0.0),
        (NASTY, ["<b>t</b>", 'u\n"v"'], 6, 0.3),
        ([f"checkpoint {i}" for i in range(40)], ["t", "u"], 3, 0.05),
        (["a", "b"], ["t"], 5, 1.0),
    ],
)
def test_the_page_is_well_formed_and_loads_nothing(build, agents, tasks, n, faults) -> None:
    found = page(build(agents, tasks, n, faults=faults))
    assert found.open == []
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in found.tags}
    for tag, attributes in found.tags:
        target = attributes.get("href") or attributes.get("src") or ""
        assert not re.match(r"(?i)[a-z]+:|//", target), (tag, target)
        assert not any(name.startswith("on") for name in attributes)
    words = "".join(found.words)
    for agent in agents:
        assert agent in words


def test_the_page_can_be_used_without_eyes_or_mouse(run) -> None:
    found = page(run)
    tables = [a for t, a in found.tags if t == "table"]
    assert len([1 for t, _ in found.tags if t == "caption"]) == len(tables) >= 6
    assert all("scope" in a for t, a in found.tags if t == "th")
    assert all(a.get("aria-label") for t, a in found.tags if a.get("role") in ("img", "region", "group"))
    ids = [a["id"] for _, a in found.tags if "id" in a]
    assert len(ids) == len(set(ids))
    targets = {str(a["href"])[1:] for t, a in found.tags if t in ("a", "use") and str(a.get("href")).startswith("#")}
    assert targets <= set(ids)


def test_every_trial_has_a_mark_with_its_shape_and_a_link_to_its_record(run) -> None:
    found = page(run)
    marks = [a for t, a in found.tags if a.get("class") == "mark"]
    assert len(marks) == len(run.results)
    assert {str(a["href"]) for a in marks if "href" in a} == {r.npz for r in run.results if r.npz}
    pattern = re.compile(r"seed \d+: [a-z ]+, [\d,]+ steps?, (no score|score [-\d.]+)$")
    assert all(pattern.match(str(mark["title"])) for mark in marks)


def test_strips_are_capped_and_say_so(build) -> None:
    run = build(["a"], ["t"], 230, faults=0)
    found = page(run)
    assert len([a for _, a in found.tags if a.get("class") == "mark"]) == 200
    assert "and 30 more" in found.words


@pytest.mark.parametrize("kind", SCALES)
@pytest.mark.parametrize(("screen", "texts"), [(0, ("#16202a", "#ffffff")), (1, ("#ffffff", "#0d1319"))])
def test_text_on_a_scale_can_be_read(kind: str, screen: int, texts: tuple[str, str]) -> None:
    stops = SCALES[kind][screen]
    for step in range(STEPS):
        colour = _between(stops, step / (STEPS - 1))
        assert max(contrast(colour, _parse(words)) for words in texts) >= 4.5
    assert all(words in heat_rules() for words in texts)


def test_markdown_fits_a_comment_and_shows_names_as_they_are(build) -> None:
    run = build([f"checkpoint_{i}" for i in range(60)], [f"t{i}" for i in range(5)], 2)
    words = to_markdown(build_report(run.cfg, run.results, run.context))
    assert len(words) < 65_536
    assert "… and 40 more agents in `report.html`." in words
    assert escape("a|b\n<i>_c_") == "a\\|b &lt;i&gt;\\_c\\_"


def test_markdown_tables_are_rectangular(build) -> None:
    run = build(NASTY, ["x|y", "z"], 5, faults=0.3)
    words = to_markdown(build_report(run.cfg, run.results, run.context))
    for block in words.split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) <= 1


def test_console_table_has_the_agents_in_order(build) -> None:
    from rich.console import Console

    run = build(["[bold]a[/bold]", "b"], ["t"], 12)
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(ranked_table(build_report(run.cfg, run.results, run.context)))
    words = console.export_text()
    assert words.index("[bold]a[/bold]") < words.index(" b ")
    assert re.search(r"\d+ % \[\d+ % to \d+ %\]", words)
