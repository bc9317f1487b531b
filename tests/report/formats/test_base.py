"""Formats of a report: which ones are written, and what one that fails costs."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from report_runs import Run, make_run

from proctor import registry
from proctor.config.models import ReportCfg
from proctor.errors import InputError
from proctor.record.batch import batched
from proctor.record.columns import Trials
from proctor.registry import Registry
from proctor.report import write_reports
from proctor.report.formats.base import Format
from proctor.report.model import Report

DEFAULT = ["report.csv", "report.html", "report.json", "report.md", "summary.csv", "trials.parquet"]


class Names(Format):
    name = "names"

    def write(self, folder: Path, report: Report, trials: Trials) -> list[str]:
        (folder / "names.txt").write_text(" ".join(agent.agent for agent in report.agents))
        return ["names.txt"]


class OnRequest(Names):
    always = False


class Broken(Names):
    def write(self, folder: Path, report: Report, trials: Trials) -> list[str]:
        raise RuntimeError("out of ink")


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch):
    def installed(name: str) -> None:
        builtin = {**registry.FORMATS.builtin, "names": f"{__name__}:{name}"}
        own = Registry("report format", "proctor.formats", registry.FORMATS.contract, builtin)
        monkeypatch.setattr("proctor.report.formats.base.FORMATS", own)

    return installed


def written(folder: Path, formats: tuple[str, ...] | None = None) -> list[str]:
    run: Run = make_run(["a", "b"], ["t"], 4, faults=0, mode="success")
    cfg = run.cfg.model_copy(update={"report": ReportCfg(formats=formats)})
    try:
        write_reports(folder, cfg, batched(run.results), run.context)
    finally:
        found = sorted(path.name for path in folder.iterdir())
    return found


def test_all_formats_are_written_by_default(install, tmp_path: Path) -> None:
    default = written(tmp_path)
    assert set(DEFAULT) <= set(default)
    install("Names")
    assert written(tmp_path) == sorted([*default, "names.txt"])


def test_a_format_that_is_not_for_every_run_is_written_where_it_is_named(install, tmp_path: Path) -> None:
    install("OnRequest")
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    assert "names.txt" not in written(tmp_path / "one")
    assert written(tmp_path / "two", ("names",)) == ["names.txt", "report.json"]


def test_a_format_of_another_package_that_cannot_be_loaded_is_logged_and_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    entry = EntryPoint("gone", "no_such_module:Gone", "proctor.formats")
    monkeypatch.setattr(registry, "_entries", lambda group: [(entry, "other 1.0")] if "formats" in group else [])
    assert set(DEFAULT) <= set(written(tmp_path))
    assert 'the report format "gone" cannot be loaded' in caplog.text
    with pytest.raises(InputError, match='no module "no_such_module"'):
        written(tmp_path, ("gone",))


def test_the_json_that_other_verbs_read_is_always_written(tmp_path: Path) -> None:
    assert written(tmp_path, ("md",)) == ["report.json", "report.md"]


def test_a_format_that_fails_is_logged_and_raised_when_the_others_are_written(
    install, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    install("Broken")
    with pytest.raises(RuntimeError, match="out of ink"):
        written(tmp_path)
    assert set(DEFAULT) <= {path.name for path in tmp_path.iterdir()}
    assert 'the report format "names" failed' in caplog.text
