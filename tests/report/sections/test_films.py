"""Videos in a report: which ones, in which order, and that nothing of them is loaded before they are played."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from report_runs import Run, make_run

from proctor.record.batch import TrialBatch
from proctor.report import drawn_up
from proctor.report.formats.json_file import to_json
from proctor.report.formats.pages import to_html
from proctor.report.model import Report
from proctor_host.episode import Outcome


@pytest.fixture
def filmed() -> Run:
    """Two agents, two tasks, eight trials each; the first four of each have a video."""
    run = make_run(["expert", "student"], ["reach", "push"], 8, faults=0)
    results = [
        replace(r, video=f"videos/{r.trial.key.replace('/', '_')}.mp4") if r.trial.index < 4 else r for r in run.results
    ]
    return replace(run, results=results)


def written(run: Run, folder: Path, posters: bool = True) -> Report:
    (folder / "videos").mkdir()
    for result in run.results:
        if result.video is not None:
            (folder / result.video).write_bytes(b"mp4")
            if posters:
                (folder / result.video).with_suffix(".jpg").write_bytes(b"jpeg")
    return drawn_up(folder, run.cfg, [TrialBatch.of(run.results)], run.context, folder)[0]


def test_failures_come_first_and_every_agent_and_task_has_its_turn(filmed: Run, tmp_path: Path) -> None:
    report = written(filmed, tmp_path)
    won = [trial.outcome == Outcome.SUCCESS for trial in report.filmed]
    assert won == sorted(won), "no success stands before a failure"
    assert True in won
    assert False in won
    turns = [(trial.agent, trial.task) for trial in report.filmed if trial.outcome != Outcome.SUCCESS]
    first = turns[: len(set(turns))]
    assert len(set(first)) == len(first), "every agent and task has one before any has a second"
    assert report.n_filmed == len(report.filmed) == 16


def test_a_video_plays_in_place_and_is_loaded_by_a_click_alone(filmed: Run, tmp_path: Path) -> None:
    page = to_html(written(filmed, tmp_path))
    films = re.findall(r"<video [^>]*>", page)
    assert len(films) == 16
    for film in films:
        assert 'preload="none"' in film
        assert " controls " in film
        assert re.search(r'poster="videos/[^"]+\.jpg"', film)
        assert re.search(r'src="videos/[^"]+\.mp4"', film)
        assert "autoplay" not in film
    assert "4 more</summary>" in page, "those beyond the first twelve are behind a fold"


def test_marks_and_tables_lead_to_the_video_in_the_page(filmed: Run, tmp_path: Path) -> None:
    page = to_html(written(filmed, tmp_path))
    places = set(re.findall(r'<figure class="film" id="([^"]+)"', page))
    marks = re.findall(r'<a class="mark filmed" href="#([^"]+)"', page)
    assert len(marks) == 16
    assert set(marks) == places
    assert "underlined: with a video" in page
    assert page.count("with a video") == 1 + 2 * 16, "a legend, and a title and a label of every mark"


def test_without_the_section_marks_lead_to_the_files(filmed: Run, tmp_path: Path) -> None:
    cfg = filmed.cfg.model_copy(update={"report": filmed.cfg.report.model_copy(update={"sections": ("trials",)})})
    page = to_html(written(replace(filmed, cfg=cfg), tmp_path))
    assert "<video" not in page
    assert len(re.findall(r'<a class="mark filmed" href="videos/', page)) == 16


def test_a_video_that_is_gone_is_not_shown_and_one_without_a_poster_is(filmed: Run, tmp_path: Path) -> None:
    report = written(filmed, tmp_path, posters=False)
    gone = report.filmed[0].video
    assert gone is not None
    (tmp_path / gone).unlink()
    report = drawn_up(tmp_path, filmed.cfg, [TrialBatch.of(filmed.results)], filmed.context, tmp_path)[0]
    page = to_html(report)
    assert page.count("<video ") == 15
    assert "poster=" not in page
    assert f'src="{gone}"' not in page
    keys = to_json(report)["videos"]
    assert [key["video"] for key in keys] == [t.video for t in report.filmed if t.video != gone]
    assert {key["poster"] for key in keys} == {None}


def test_a_run_without_videos_has_no_such_section(run: Run, tmp_path: Path) -> None:
    report = drawn_up(tmp_path, run.cfg, [TrialBatch.of(run.results)], run.context, tmp_path)[0]
    assert report.filmed == ()
    assert 'id="videos"' not in to_html(report)


def test_at_most_so_many_are_chosen_and_the_page_says_of_how_many(build, tmp_path: Path) -> None:
    run = build(["a", "b", "c"], ["one"], 20, faults=0)
    results = [replace(r, video=f"videos/{i}.mp4") for i, r in enumerate(run.results)]
    report = written(replace(run, results=results), tmp_path)
    assert len(report.filmed) == 24
    assert report.n_filmed == 60
    assert "24 of 60 videos, failures first" in to_html(report)
