"""What makes pages readable: scales that mean the same everywhere, axes with names, hints where a table scrolls."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from report_runs import Run
from tracking_runs import make_tracking_run
from vessel_runs import make_vessel_run

from proctor.record.batch import TrialBatch
from proctor.report import drawn_up
from proctor.report.draw.markup import heat_cell, scale_key, table
from proctor.report.draw.palette import BAD, GOOD, NEUTRAL, SCALES, STEPS, heat_rules
from proctor.report.formats.pages import to_html


@pytest.fixture
def tracking(tmp_path: Path) -> str:
    return to_html(make_tracking_run(tmp_path / "tracking").report())


@pytest.fixture
def vessels(tmp_path: Path) -> str:
    return to_html(make_vessel_run(tmp_path / "vessels", ["pilot", "novice"], 3).report())


@pytest.fixture
def plain(run: Run, tmp_path: Path) -> str:
    return to_html(drawn_up(tmp_path, run.cfg, [TrialBatch.of(run.results)], run.context, tmp_path)[0])


def section(page: str, key: str) -> str:
    found = re.search(rf'<section id="{key}".*?</section>', page, re.S)
    assert found is not None
    return found[0]


def cells(page: str) -> set[str]:
    return set(re.findall(r'<td class="([a-z])\d+"', page))


def test_rates_and_scores_are_blue_and_errors_are_red_on_every_page(tracking: str, plain: str) -> None:
    assert cells(section(plain, "tasks")) == {GOOD}
    assert cells(section(tracking, "tasks")) == {GOOD}
    assert cells(section(tracking, "cases")) == {BAD}, "motions by EMD"
    drawn = set(re.findall(r'<path class="f([a-z])\d+"', section(tracking, "tracking")))
    assert drawn == {BAD}, "joint errors"


def test_every_heat_map_has_a_key_with_both_ends_and_what_they_mean(tracking: str, plain: str) -> None:
    for page, key, keys in (
        (plain, "tasks", 2),
        (tracking, "tasks", 2),
        (tracking, "cases", 1),
        (tracking, "tracking", 1),
    ):
        found = re.findall(r'<p class="scale">(.*?)</p>', section(page, key))
        assert len(found) == keys, key
    assert "0 % <svg" in section(plain, "tasks")
    assert "100 %: the stronger, the better" in section(plain, "tasks")
    assert ": the stronger, the worse" in section(tracking, "cases")


def test_a_scale_grows_evenly_from_pale_to_strong() -> None:
    def light(colour: tuple[int, int, int]) -> float:
        return float(np.dot(colour, (0.2126, 0.7152, 0.0722)))

    for bright, dark in SCALES.values():
        assert light(bright[0]) > light(bright[1]) > light(bright[2])
        assert light(dark[0]) < light(dark[1]) < light(dark[2])
    rules = heat_rules()
    for kind in (GOOD, BAD, NEUTRAL):
        for step in range(STEPS):
            assert rules.count(f".{kind}{step} {{") == 2, "for light and for dark screens"
            assert rules.count(f".f{kind}{step} {{") == 2
    assert heat_cell(1.0, "1", "n 3", scale=BAD).startswith(f'<td class="{BAD}10">')
    assert "the stronger" not in scale_key(NEUTRAL, "0", "1 s")


@pytest.mark.parametrize("kind", ["plain", "tracking", "vessels"])
def test_every_axis_has_a_name(kind: str, request: pytest.FixtureRequest) -> None:
    page = request.getfixturevalue(kind)
    axes = re.findall(r'<div class="row axis">.*?</div>', page, re.S)
    assert axes
    assert all(re.search(r'<text class="tick axis-name"[^>]*>[^<]+<', axis) for axis in axes)
    charts = re.findall(r'<figure class="chart">.*?</figure>', page, re.S)
    assert all(re.search(r'class="axis-(up|across)">[^<]+<', chart) for chart in charts)
    maps = re.findall(r'<figure class="joint-map">.*?</figure>', page, re.S)
    assert all("time (s)</text>" in drawn for drawn in maps)
    panels = re.findall(r'<svg class="panel".*?</svg>.*?</svg>', page, re.S)
    assert all(">time (s)</text>" in panel or ">inserted length (mm)</text>" in panel for panel in panels)
    if kind == "vessels":
        assert panels
        assert all('dy="-8" text-anchor="end">N</text>' in panel or "scene force" in panel for panel in panels)


def test_a_table_says_where_it_scrolls(plain: str) -> None:
    tables = re.findall(r'<div class="scroll".*?</div>', plain, re.S)
    assert len(tables) > 5
    for drawn in tables:
        assert '<span class="hint"> · scrolls sideways →</span></caption>' in drawn
        wide = len(re.findall(r'<th scope="col">', drawn)) >= 5
        kinds = re.search(r'<table class="([^"]*)"', drawn)
        assert kinds is not None
        assert ("wide" in kinds[1].split()) == wide
    assert 'aria-label="Trials"' in table("Trials", ["a"], [["1"]]), "a reader that speaks hears the caption alone"
    assert "@container scroll-state(scrollable: right)" in plain
