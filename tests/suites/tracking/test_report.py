"""Reports of motion tracking: targets, cases, spread, joint errors over time."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from report_runs import make_run
from tracking_episodes import JOINTS
from tracking_runs import CONTEXT, MOTIONS, TrackingRun, make_tracking_run

from proctor.report import Report, build_report
from proctor.report.draw.svg import runs
from proctor.report.formats.json_file import to_json
from proctor.report.formats.pages import to_html, to_markdown
from proctor.suites.tracking.report.joint_errors import MAPS, binned, read_joint_errors
from proctor.suites.tracking.report.section import thinned

TARGETS = {"emd": 0.75, "upright_share": 0.9}


@pytest.fixture
def tracked(tmp_path: Path) -> TrackingRun:
    return make_tracking_run(tmp_path / "run", targets=TARGETS)


@pytest.fixture
def report(tracked: TrackingRun) -> Report:
    return tracked.report()


def test_cases_are_worst_first_for_every_agent_whatever_the_order_of_trials(tracked: TrackingRun) -> None:
    tables = tracked.report().cases
    assert [(table.agent, table.order) for table in tables] == [("mirror", "emd"), ("student", "emd"), ("hold", "emd")]
    for table in tables:
        values = [case.metrics["emd"].value or 0 for case in table.cases]
        assert values == sorted(values, reverse=True)
        assert {case.case for case in table.cases} == set(MOTIONS)
    turned = build_report(tracked.cfg, reversed(tracked.results), CONTEXT)
    assert [[c.case for c in t.cases] for t in turned.cases] == [[c.case for c in t.cases] for t in tables]


def test_a_case_pools_its_trials_and_keeps_the_record_of_the_worst(tracked: TrackingRun) -> None:
    again = [replace(r, case="all") for r in tracked.results]
    table = build_report(tracked.cfg, again, CONTEXT).cases[0]
    (case,) = table.cases
    own = [r for r in again if r.trial.agent == table.agent]
    emds = [r.metrics["emd"] or 0.0 for r in own]
    assert (case.n, case.successes) == (4, sum(r.success for r in own))
    assert case.metrics["emd"].value == pytest.approx(np.mean(emds))
    assert case.metrics["emd"].interval is not None
    assert case.npz == own[int(np.argmax(emds))].npz


def test_a_motion_without_a_value_is_worse_than_any_number(tracked: TrackingRun) -> None:
    lost = replace(tracked.results[0], metrics={**tracked.results[0].metrics, "emd": None})
    table = build_report(tracked.cfg, [lost, *tracked.results[1:]], CONTEXT).cases[0]
    assert (table.agent, table.cases[0].case, table.cases[0].metrics["emd"].value) == ("mirror", lost.case, None)


def test_targets_are_judged_by_the_mean_and_its_interval(report: Report) -> None:
    found = {(t.agent, t.metric): t for t in report.targets}
    assert {key: t.met for key, t in found.items()} == {
        ("mirror", "emd"): True, ("student", "emd"): True, ("hold", "emd"): False,
        ("mirror", "upright_share"): True, ("student", "upright_share"): False, ("hold", "upright_share"): False,
    }  # fmt: skip
    assert found["mirror", "emd"].clear
    assert not found["hold", "emd"].clear
    assert (found["mirror", "emd"].n, found["mirror", "emd"].n_scored) == (4, 4)
    assert found["mirror", "upright_share"].direction == "up"


def test_a_trial_that_could_not_be_measured_has_not_met_the_target(tracked: TrackingRun) -> None:
    lost = replace(tracked.results[0], metrics={**tracked.results[0].metrics, "emd": None})
    result = build_report(tracked.cfg, [lost, *tracked.results[1:]], CONTEXT).targets[0]
    assert (result.agent, result.n, result.n_scored, result.met) == ("mirror", 3, 4, False)
    assert (result.value or 9) < 0.75


def test_a_target_without_any_value_is_missed(tracked: TrackingRun) -> None:
    bare = [replace(r, metrics={}) for r in tracked.results]
    results = build_report(tracked.cfg, bare, CONTEXT).targets
    assert not any(result.met or result.clear for result in results)
    assert "missed" in to_html(build_report(tracked.cfg, bare, CONTEXT))


def test_an_agent_that_lies_on_the_floor_with_a_good_emd_is_a_caution(report: Report) -> None:
    cautions = [finding.text for finding in report.findings if finding.level == "caution"]
    assert any(text.startswith("student: EMD is 0.3") and "upright in only 75 %" in text for text in cautions)
    assert not any(text.startswith("mirror") for text in cautions)


def test_json_has_targets_cases_and_the_worst_joints(tracked: TrackingRun) -> None:
    tracked.report()
    data = json.loads((tracked.folder / "report.json").read_text())
    assert data["targets"][0]["metric"] == "emd"
    assert set(data["targets"][0]) >= {"agent", "target", "value", "interval", "n", "n_scored", "met", "clear", "unit"}
    first = data["cases"][0]
    assert (first["agent"], first["task"], first["worst_first_by"]) == ("mirror", "g1", "emd")
    assert set(first["cases"][0]["metrics"]) == {
        "emd", "mpjpe_xpos", "root_pos_error_m", "torso_rot_error_rad", "upright_share", "first_fall_s", "frames_cut",
    }  # fmt: skip
    joints = data["joint_errors"][0]["joints"]
    assert {joint["joint"] for joint in joints} == set(JOINTS)
    assert [j["mean_rad"] for j in joints] == sorted((j["mean_rad"] for j in joints), reverse=True)
    assert data["scoring"]["options"]["emd_scale"] == 0.75


def test_markdown_names_targets_and_worst_cases(report: Report) -> None:
    words = to_markdown(report)
    assert "| hold | emd at most 0.75 rad | **missed** |" in words
    assert words.index("## Targets") < words.index("## Worst cases")
    assert re.search(r"\| hold \| g1 \| bow \| 1 \| 0 \| 0\.\d+ \| 1\.25 \| 50 % \|", words)


def test_html_shows_every_part(report: Report) -> None:
    page = to_html(report)
    for key in ("targets", "tracking", "cases"):
        assert f'<section id="{key}"' in page
    assert page.count('<figure class="joint-map">') == MAPS
    assert page.count('class="fall"') == 4
    assert 'class="target"' in page
    assert page.count("<details") >= 3
    assert "weight 2" in page


def test_names_are_escaped(tmp_path: Path) -> None:
    tracked = make_tracking_run(tmp_path / "run", {"<b>x": 0.1, "y": 0.2}, targets=TARGETS)
    odd = [replace(r, case=f"<i>{r.case}") for r in tracked.results]
    page = to_html(replace(tracked, results=odd).report())
    assert "<b>x" not in page
    assert "<i>" not in page
    assert "&lt;i&gt;squat" in page


def test_a_single_agent_has_its_cases_open(tmp_path: Path) -> None:
    page = to_html(make_tracking_run(tmp_path / "run", {"mirror": 0.1}).report())
    assert "<details open><summary>mirror: 4 cases, worst first" in page
    assert '<section id="targets"' not in page


def test_any_suite_with_cases_has_a_table_ordered_by_score(tracked: TrackingRun) -> None:
    plain = [replace(r, metrics={"action_abs_max": 1.0}, success=r.trial.index < 2) for r in tracked.results]
    cfg = tracked.cfg.model_copy(update={"scoring": tracked.cfg.scoring.model_copy(update={"mode": "success"})})
    found = build_report(cfg, plain, CONTEXT)
    assert [t.order for t in found.cases] == ["score"] * 3
    assert [case.case for case in found.cases[0].cases] == ["bow", "turn", "squat", "wave"]
    page = to_html(found)
    assert '<section id="cases"' in page
    assert '<section id="tracking"' not in page
    assert read_joint_errors(tracked.folder, found.cases) == ()


def test_runs_without_cases_have_none_of_it() -> None:
    run = make_run(["a", "b"], ["reach"], 5)
    found = build_report(run.cfg, run.results, run.context)
    page, data = to_html(found), to_json(found)
    assert not {"targets", "cases", "joint_errors"} & set(data)
    for word in ("joint-map", "case-details", ".f10", 'id="cases"'):
        assert word not in page


def test_joint_errors_are_means_over_stretches_of_time(tracked: TrackingRun) -> None:
    table = tracked.report().cases[-1]
    (errors, *_) = read_joint_errors(tracked.folder, [table])
    assert (errors.case, errors.joints, errors.errors.shape) == (table.cases[0].case, JOINTS, (5, 80))
    assert errors.duration == pytest.approx(120 * 0.02)
    assert errors.first_fall == pytest.approx(60 * 0.02)
    assert errors.errors[:, 0].max() < 0.02
    assert errors.errors[:, -1].max() > 0.5


def test_binned_by_hand() -> None:
    assert binned(np.array([[1.0], [3.0], [5.0], [7.0]]), 2).tolist() == [[2.0, 6.0]]
    assert binned(np.array([[1.0, 2.0], [3.0, 4.0]]), 80).tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert np.isnan(binned(np.array([[1.0], [np.nan], [5.0], [7.0]]), 2)).tolist() == [[True, False]]


def test_records_that_are_gone_or_broken_are_passed_over(tracked: TrackingRun) -> None:
    tables = tracked.report().cases
    worst = [case.npz for case in tables[-1].cases]
    (tracked.folder / str(worst[0])).unlink()
    (tracked.folder / str(worst[1])).write_bytes(b"not a record")
    found = [errors for errors in tracked.report().data("tracking") if errors.agent == "hold"]
    assert [errors.npz for errors in found] == worst[2:4]


def test_maps_are_bounded_and_shared_among_agents(tmp_path: Path) -> None:
    few = make_tracking_run(tmp_path / "few", {"a": 0.1, "b": 0.2}).report()
    assert [errors.agent for errors in few.data("tracking")] == ["a"] * 3 + ["b"] * 3
    many = make_tracking_run(tmp_path / "many", {f"agent {i}": 0.1 * i for i in range(8)}).report()
    assert len({errors.agent for errors in many.data("tracking")}) == len(many.data("tracking")) == MAPS


def test_thinning_keeps_the_ends_and_runs_cover_everything() -> None:
    values = [float(x) for x in np.random.default_rng(0).permutation(1000)]
    kept = thinned(values, 50)
    assert (len(kept), kept[0], kept[-1]) == (50, 0.0, 999.0)
    assert thinned([2.0, 1.0], 50) == [1.0, 2.0]
    assert list(runs([1, 1, 2, 2, 2, 1])) == [(1, 0, 2), (2, 2, 5), (1, 5, 6)]
