"""Signals of the worst trials: which trials, which curves, with which axes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from report_runs import Run, make_run

from proctor.record.batch import TrialBatch
from proctor.report import drawn_up
from proctor.report.formats.pages import to_html
from proctor.report.model import Report
from proctor.report.sections import signals
from proctor.report.sections.signals import Signals, thinned
from proctor_host.npz import write_npz

STEPS = 900


@pytest.fixture
def run() -> Run:
    return make_run(["expert", "student", "novice"], ["reach"], 8, faults=0)


def recorded(run: Run, folder: Path, **arrays: np.ndarray) -> Report:
    """The run's report; every trial has recorded these arrays."""
    (folder / "trials").mkdir(exist_ok=True)
    own = {"rewards": np.linspace(0, 1, STEPS), "action_dt_s": np.array(0.02), "success": np.zeros(STEPS, bool)}
    for result in run.results:
        if result.npz is not None:
            write_npz(folder / result.npz, {**own, **arrays})
    return drawn_up(folder, run.cfg, [TrialBatch.of(run.results)], run.context, folder)[0]


def section(page: str) -> str:
    found = re.search(r'<section id="signals".*?</section>', page, re.S)
    return "" if found is None else found[0]


def titles(page: str) -> list[str]:
    return re.findall(r'<figure class="chart"><figcaption>([^<]*)<', section(page))


def test_the_worst_trials_are_failures_first_then_by_score_agent_by_agent(run: Run, tmp_path: Path) -> None:
    report = recorded(run, tmp_path)
    assert len(report.worst) == 6
    won = [trial.outcome == "success" for trial in report.worst]
    assert won == sorted(won)
    failed = [trial for trial in report.worst if trial.outcome != "success"]
    assert len({trial.agent for trial in failed[:3]}) == 3, "each agent in turn"
    lowest = {a: min(r.score for r in t) for a, t in _by_agent(report).items()}
    assert all(trial.score == lowest[trial.agent] for trial in failed[:3])


def _by_agent(report: Report) -> dict[str, list]:
    marks = {agent.agent: agent.cells[0].marks for agent in report.agents}
    return {agent: [m for m in own if m.outcome != "success"] for agent, own in marks.items()}


def test_every_chart_names_its_axes_with_their_units(run: Run, tmp_path: Path) -> None:
    wave = np.sin(np.arange(STEPS) / 30)
    page = to_html(
        recorded(
            run, tmp_path, grip_force_n=wave, contact=wave > 0, odd=wave, arm_pos_m=np.eye(3)[np.arange(STEPS) % 3]
        )
    )
    body = section(page)
    charts = re.findall(r'<figure class="chart">.*?</figure>', body, re.S)[:5]
    names = {
        re.search(r"<figcaption>([^<]*)", chart)[1]: (
            re.search(r'axis-up">([^<]*)', chart)[1],
            re.search(r'axis-across">([^<]*)', chart)[1],
        )
        for chart in charts
    }
    assert names == {
        "rewards": ("reward", "time (s)"),
        "contact": ("0 no, 1 yes", "time (s)"),
        "grip_force_n": ("N", "time (s)"),
        "odd": ("value", "time (s)"),
        "arm_pos_m": ("m", "time (s)"),
    }
    assert "success" not in titles(page)


def test_without_a_clock_the_axis_counts_steps(run: Run, tmp_path: Path) -> None:
    page = to_html(recorded(run, tmp_path, action_dt_s=np.array(np.nan)))
    assert set(re.findall(r'axis-across">([^<]*)', section(page))) == {"step"}


def test_what_never_changes_is_named_and_what_has_no_room_too(run: Run, tmp_path: Path) -> None:
    many = {f"s{i:02}": np.arange(STEPS) * (i + 1.0) for i in range(14)}
    page = to_html(recorded(run, tmp_path, still=np.full(STEPS, 2.5), **many))
    assert titles(page)[:12] == ["rewards", *sorted(many)[:11]]
    assert "Did not change: still (2.50)." in page
    assert "Not drawn: s11, s12 and s13; `proctor export RUN --csv` has all." in page


def test_many_numbers_are_a_span_with_their_median(run: Run, tmp_path: Path) -> None:
    joints = np.tile(np.linspace(-1, 1, 9), (STEPS, 1))
    joints[400] = 5.0
    body = section(to_html(recorded(run, tmp_path, joint_pos=joints)))
    assert "joint_pos over 18.0 s: between −1.00 and 5.00" in body
    assert 'class="band k0 d0"' in body


def test_a_peak_is_never_thinned_away() -> None:
    rng = np.random.default_rng(5)
    for n in (1, 2, 160, 161, 5000):
        values = rng.normal(size=n)
        values[rng.integers(n)] = 99.0
        kept = thinned(values)
        assert {values[kept].max(), values[kept].min()} == {99.0, values.min()}
        assert kept[0] == 0
        assert kept[-1] == n - 1
        assert (np.diff(kept) > 0).all()
        assert len(kept) <= 2 * signals.BINS + 2
    assert len(thinned(np.full(1000, np.nan))) == 2


@pytest.mark.parametrize(
    "harm",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b"no zip"),
        lambda path: write_npz(path, {"actions": np.zeros(3)}),
        lambda path: write_npz(path, {"rewards": np.zeros(0)}),
        lambda path: write_npz(path, {"rewards": np.array(1.0)}),
    ],
)
def test_a_record_that_is_gone_or_broken_is_passed_over(run: Run, tmp_path: Path, harm) -> None:
    report = recorded(run, tmp_path)
    first, second = report.worst[:2]
    assert first.npz is not None
    harm(tmp_path / first.npz)
    data = Signals().read(tmp_path, report)
    assert data[0].trial == second
    assert len(data) == 4


def test_names_of_signals_are_text_and_no_markup(run: Run, tmp_path: Path) -> None:
    page = to_html(recorded(run, tmp_path, **{"<b>bold": np.arange(STEPS)}))
    assert "<b>bold" not in page
    assert "&lt;b&gt;bold" in page


def test_equal_records_give_equal_bytes(run: Run, tmp_path: Path) -> None:
    wave = np.random.default_rng(0).normal(size=(STEPS, 3))
    pages = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        pages.append(section(to_html(recorded(run, tmp_path / name, wave=wave))))
    assert pages[0] == pages[1]
    assert len(pages[0]) > 1000


def test_a_run_without_records_has_no_such_section(run: Run, tmp_path: Path) -> None:
    results = [replace(result, npz=None) for result in run.results]
    report = drawn_up(tmp_path, run.cfg, [TrialBatch.of(results)], run.context, tmp_path)[0]
    assert report.worst == ()
    assert section(to_html(report)) == ""
