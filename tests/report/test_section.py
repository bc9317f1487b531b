"""Sections of a report: which ones a run has, and what one that fails costs."""

from __future__ import annotations

import csv
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from report_runs import Run, make_run, of_suite

from proctor import registry
from proctor.config.models import AgentCfg, EvalConfig, ReportCfg
from proctor.record.batch import batched
from proctor.registry import Registry
from proctor.report import build_report, write_reports
from proctor.report.model import Finding, Report
from proctor.report.section import CaseLayout, Column, Section, sections_of

HERE = __name__


class Weather(Section):
    """A section as a package would bring it: for one suite, with columns, keys, a finding, an opening and a file."""

    key, title, place, suites = "weather", "Weather & wind", 15, ("gymnasium",)
    columns = (
        Column("wind", "seed", metric="action_rate_mean"),
        Column("sky", "agent", of_agent=lambda cfg, agent: f"{cfg.name}: {agent.name}"),
        Column("score_luck", "score", component="luck"),
    )
    agent_columns = (Column("wind_mean", "agent", metric="action_rate_mean"),)
    case_layout = CaseLayout("action_rate_mean", ("action_rate_mean",))

    def read(self, folder: Path, report: Report) -> str:
        return (folder / "weather.txt").read_text()

    def write(self, folder: Path, data: str) -> None:
        (folder / "weather.out").write_text(data.upper())

    def html(self, report: Report, data: str | None) -> str:
        return f'<p class="weather">{data}</p>'

    def markdown(self, report: Report, data: str | None) -> str:
        return f"## Weather\n\n{data}"

    def keys(self, report: Report, data: str | None) -> dict[str, Any]:
        return {"weather": data}

    def findings(self, report: Report) -> list[Finding]:
        return [Finding("note", "It rained.")]

    def opening(self, report: Report) -> str:
        return "Outdoors."

    def styles(self) -> str:
        return ".weather { color: blue; }"


class Signed(Weather):
    signs = ("action_rate_mean",)


class BrokenRead(Weather):
    def read(self, folder: Path, report: Report) -> str:
        raise ValueError("no <station>\nsecond line")


class BrokenHtml(Weather):
    def html(self, report: Report, data: str | None) -> str:
        raise KeyError("rain")


class BrokenWords(Weather):
    def findings(self, report: Report) -> list[Finding]:
        raise RuntimeError("storm")

    def opening(self, report: Report) -> str:
        raise RuntimeError("storm")

    def markdown(self, report: Report, data: str | None) -> str:
        raise RuntimeError("storm")

    def keys(self, report: Report, data: str | None) -> dict[str, Any]:
        raise RuntimeError("storm")


class Greedy(Weather):
    def keys(self, report: Report, data: str | None) -> dict[str, Any]:
        return {"agents": "mine"}


def broken_text(cfg: EvalConfig, agent: AgentCfg) -> str:
    raise RuntimeError("storm")


class BrokenColumn(Weather):
    columns = (Column("sky", "agent", of_agent=broken_text),)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch):
    """Register a section of this module beside those of Proctor."""

    def installed(name: str) -> None:
        builtin = {**registry.SECTIONS.builtin, "weather": f"{HERE}:{name}"}
        own = Registry("report section", "proctor.sections", registry.SECTIONS.contract, builtin)
        monkeypatch.setattr("proctor.report.section.SECTIONS", own)

    return installed


@pytest.fixture
def run() -> Run:
    return make_run(["a", "b"], ["t"], 6, faults=0, mode="success")


def write(run: Run, folder: Path) -> Report:
    folder.mkdir(exist_ok=True)
    (folder / "weather.txt").write_text("sunny")
    return write_reports(folder, run.cfg, batched(run.results), run.context)


def heads(folder: Path, name: str) -> list[str]:
    return (folder / name).read_text().splitlines()[0].split(";")


def test_a_section_that_is_registered_is_in_every_file(install, run: Run, tmp_path: Path) -> None:
    install("Weather")
    report = write(run, tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert '<h2 id="weather-title">Weather &amp; wind</h2>\n<p class="weather">sunny</p></section>' in page
    assert page.index('id="ranking"') < page.index('id="weather"') < page.index('id="findings"')
    assert ".weather { color: blue; }" in page
    assert "## Weather\n\nsunny" in (tmp_path / "report.md").read_text()
    data = json.loads((tmp_path / "report.json").read_text())
    assert data["weather"] == "sunny"
    assert list(data["agents"][0])[:3] == ["agent", "wind_mean", "checkpoint"]
    assert data["verdict"].startswith("Outdoors. ")
    assert report.findings[0] == Finding("note", "It rained.")
    assert (tmp_path / "weather.out").read_text() == "SUNNY"


def test_its_columns_stand_where_it_says_and_hold_its_values(install, run: Run, tmp_path: Path) -> None:
    install("Weather")
    write(run, tmp_path)
    assert heads(tmp_path, "summary.csv")[:6] == ["agent", "sky", "checkpoint", "trial", "seed", "wind"]
    assert "action_rate_mean" not in heads(tmp_path, "summary.csv")
    with (tmp_path / "summary.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter=";"))
    for row, result in zip(rows, run.results, strict=True):
        assert (row["sky"], row["score_luck"]) == (f"reach and insert: {result.trial.agent}", "")
        assert float(row["wind"]) == result.metrics["action_rate_mean"]


def test_a_section_of_another_suite_leaves_no_trace(install, run: Run, tmp_path: Path) -> None:
    install("Weather")
    report = write(of_suite(run, "elsewhere"), tmp_path)
    assert "weather" not in (tmp_path / "report.html").read_text()
    assert "wind" not in heads(tmp_path, "summary.csv")
    assert report.data("weather") is None
    assert not (tmp_path / "weather.out").exists()


def test_the_config_chooses_what_is_shown(run: Run, tmp_path: Path) -> None:
    cfg = run.cfg.model_copy(update={"report": ReportCfg(sections=("how", "ranking"))})
    report = build_report(cfg, run.results, run.context)
    assert [shown.section.key for shown in report.sections] == ["ranking", "how"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("BrokenRead", "This section could not be made: ValueError: no &lt;station&gt;</p>"),
        ("BrokenHtml", "This section could not be made: KeyError: &#x27;rain&#x27;</p>"),
    ],
)
def test_a_section_that_fails_is_named_and_costs_no_other(
    install, run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, said: str
) -> None:
    install(name)
    with caplog.at_level(logging.ERROR):
        write(run, tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert f'<h2 id="weather-title">Weather &amp; wind</h2>\n<p class="failed">{said}' in page
    assert 'id="ranking"' in page
    assert 'id="how"' in page
    assert 'the report section "weather" failed' in caplog.text
    assert "Traceback" in caplog.text


def test_words_that_fail_are_findings_and_notes(install, run: Run, tmp_path: Path) -> None:
    install("BrokenWords")
    report = write(run, tmp_path)
    failed = 'The report section "weather" failed to say what it finds: RuntimeError: storm.'
    assert Finding("caution", failed) in report.findings
    assert "This section could not be made: RuntimeError: storm" in (tmp_path / "report.md").read_text()
    assert json.loads((tmp_path / "report.json").read_text())["failed_sections"] == {"weather": "RuntimeError: storm"}
    assert '<p class="weather">sunny</p>' in (tmp_path / "report.html").read_text()


def test_keys_of_the_report_are_not_taken(install, run: Run, tmp_path: Path) -> None:
    install("Greedy")
    write(run, tmp_path)
    data = json.loads((tmp_path / "report.json").read_text())
    assert isinstance(data["agents"], list)
    assert data["failed_sections"] == {"weather": "the report has these keys already: agents"}


def test_a_column_that_fails_is_blank(install, run: Run, tmp_path: Path) -> None:
    install("BrokenColumn")
    write(run, tmp_path)
    with (tmp_path / "summary.csv").open(newline="") as stream:
        assert {row["sky"] for row in csv.DictReader(stream, delimiter=";")} == {""}


def test_a_section_that_cannot_be_loaded_is_a_caution(install, run: Run, tmp_path: Path) -> None:
    install("Gone")
    assert "ranking" in [section.key for section in sections_of(["gymnasium"], [])[0]]
    report = write(run, tmp_path)
    (finding,) = [found for found in report.findings if "weather" in found.text]
    assert finding.level == "caution"
    assert finding.text.startswith('The report section "weather" cannot be loaded: ')


def test_cases_are_ordered_as_the_section_of_their_suite_says(install, run: Run) -> None:
    from dataclasses import replace

    install("Weather")
    named = [replace(r, case=f"case {r.trial.index}") for r in run.results]
    own, other = (build_report(each.cfg, named, run.context).cases[0] for each in (run, of_suite(run, "elsewhere")))
    assert (own.order, other.order) == ("action_rate_mean", "score")
    values = [case.metrics["action_rate_mean"].value or 0.0 for case in own.cases]
    assert values == sorted(values, reverse=True)


def test_a_column_needs_one_source() -> None:
    with pytest.raises(ValueError, match='the column "x" needs one of metric, component and of_agent'):
        Column("x", "agent")


def test_a_run_with_the_signs_of_a_section_has_it_whatever_its_suite_is_called(
    install, run: Run, tmp_path: Path
) -> None:
    install("Signed")
    write(of_suite(run, "mine.py:Outdoors"), tmp_path)
    assert '<p class="weather">sunny</p>' in (tmp_path / "report.html").read_text()
    assert "wind" in heads(tmp_path, "summary.csv")
