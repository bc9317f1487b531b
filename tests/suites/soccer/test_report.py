"""Reports of runs that are scored by a sum of terms."""

from __future__ import annotations

from pathlib import Path

from term_runs import TASKS, contest

from proctor.record.rundir import RunDir
from proctor.runs.report import write_report


def page_of(folder: Path) -> str:
    write_report(RunDir.open(folder))
    return (folder / "report.html").read_text(encoding="utf-8")


def test_every_task_has_bars_of_what_each_term_adds(tmp_path: Path) -> None:
    page = page_of(contest(tmp_path))
    section = page.partition('<section id="terms"')[2].partition("</section>")[0]
    assert section.count('<figure class="terms">') == len(TASKS)
    assert section.count("<title>robot_fallen: ") > 0
    assert section.index(">goal_scored</li>") < section.index(">steps</li>"), "steps comes last"
    assert ".term0" in page


def test_a_run_that_is_scored_otherwise_has_none(tmp_path: Path) -> None:
    folder = contest(tmp_path, scoring={"mode": "success"})
    assert 'id="terms"' not in page_of(folder)
