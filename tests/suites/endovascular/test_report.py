"""Reports of navigation in vessels: what is read, what is drawn, and how much at most."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from vessel_runs import DT_S, VesselRun, make_vessel_run, passage_arrays

from proctor import config_from_dict, run_evaluation
from proctor.config.models import ReportCfg
from proctor.registry import SECTIONS
from proctor.suites.endovascular.report.records import AGENTS, PICTURES, RECORDS, TASKS
from proctor_host.npz import write_npz

FILES = ("report.html", "report.json", "report.md", "report.csv", "summary.csv")
KNOWN = """
agent tool checkpoint trial seed success steps_total steps_to_success episode_reward path_ratio_last
trajectory_length_last avg_translation_speed_last tip_speed_max_mm_s tip_speed_mean_mm_s wall_time_s
sim_time_s wall_lcp_max_abs_max wall_lcp_sum_abs_mean wall_wire_force_norm_max
wall_wire_force_norm_mean wall_collision_force_norm_max wall_collision_force_norm_mean
wall_force_max score score_success score_efficiency score_safety score_smoothness npz_path
""".split()  # noqa: SIM905
KNOWN_OF_AGENTS = """
agent tool checkpoint n_trials success_rate score_mean score_std steps_total_mean steps_to_success_mean
tip_speed_max_mean_mm_s wall_force_max_mean
""".split()  # noqa: SIM905
SCENE = ("vessel_pos3d", "vessel_radius", "vessel_branch", "target_pos3d", "target_threshold_mm", "force_unit")
FORCES = ("wall_lcp_max_abs", "wall_lcp_sum_abs", "wall_wire_force_norm", "wall_collision_force_norm")


@pytest.fixture
def run(tmp_path: Path) -> VesselRun:
    return make_vessel_run(tmp_path / "run", ["steady", "blind"], 3)


def test_the_columns_that_other_programs_know_are_first_and_in_their_order(run: VesselRun) -> None:
    run.report()
    summary, agents = ((run.folder / name).read_text().splitlines()[0].split(";") for name in FILES[3:][::-1])
    assert summary[: len(KNOWN) + 4] == [*KNOWN, "task", "outcome", "attempts", "case"]
    assert agents[: len(KNOWN_OF_AGENTS)] == KNOWN_OF_AGENTS
    data = json.loads((run.folder / "report.json").read_text())
    assert list(data)[:7] == ["name", "generated_at", "scoring", "n_trials", "agents", "summary_csv", "trials_dir"]
    assert list(data["agents"][0])[: len(KNOWN_OF_AGENTS)] == KNOWN_OF_AGENTS
    assert data["agents"][0]["wall_force_max_mean"] == pytest.approx(0.11)


@pytest.mark.parametrize("chosen", [(), ("ranking",)])
def test_the_columns_do_not_depend_on_the_sections_that_are_shown(run: VesselRun, chosen: tuple[str, ...]) -> None:
    cfg = run.cfg.model_copy(update={"report": ReportCfg(sections=chosen)})
    VesselRun(run.folder, cfg, run.results).report()
    assert (run.folder / "summary.csv").read_text().splitlines()[0].split(";")[: len(KNOWN)] == KNOWN
    assert not (run.folder / "pictures").exists()
    assert 'id="vessels"' not in run.page()


def test_every_agent_and_seed_has_a_picture(run: VesselRun) -> None:
    report = run.report()
    assert [(p.agent, p.index) for p in report.data("vessels")] == [
        (a, i) for a in ("steady", "blind") for i in range(3)
    ]
    page = run.page()
    assert page.count('<figure class="passage">') == 6
    assert page.count('<figure class="passage force">') == 2
    assert page.count(">inserted length (mm)</text>") == 2
    assert page.count(f'<g id="{report.data("vessels")[0].vessel.key}">') == 1  # type: ignore[union-attr]
    assert 'href="pictures/0_0_trial0000_seed123.png"' in page
    assert "steady, seed 123: reached after 4.00\N{NO-BREAK SPACE}s, peak 0.100\N{NO-BREAK SPACE}N" in page
    assert sorted(path.name for path in (run.folder / "pictures").iterdir()) == sorted(
        f"{a}_0_trial{i:04d}_seed{123 + i}.png" for a in (0, 1) for i in range(3)
    )


def test_the_largest_force_is_that_of_the_metric_and_knows_its_place(run: VesselRun) -> None:
    for result, passage in zip(run.results, run.report().data("vessels"), strict=True):
        assert passage.peak is not None
        assert passage.peak.force == result.metrics["wall_force_max"]
        assert passage.peak.time == pytest.approx((result.steps_total // 2 + 1) * DT_S)
        assert passage.peak.place.tolist() == [3.0, 100.0]


def test_json_names_the_pictures(run: VesselRun) -> None:
    run.report()
    passages = json.loads((run.folder / "report.json").read_text())["passages"]
    assert len(passages) == 6
    first = passages[0]
    assert (first["agent"], first["seed"], first["duration"], first["unit"]) == ("steady", 123, 4.0, "s")
    assert (first["force_max"], first["force_unit"]) == (0.1, "N")
    assert (run.folder / first["picture"]).read_bytes().startswith(b"\x89PNG")


def test_equal_runs_give_equal_files(run: VesselRun) -> None:
    run.report()
    names = [*FILES, *(f"pictures/{path.name}" for path in (run.folder / "pictures").iterdir())]
    before = {name: (run.folder / name).read_bytes() for name in names}
    run.report()
    assert {name: (run.folder / name).read_bytes() for name in names} == before


def test_reports_without_a_tracked_tip_are_those_of_runs_without_records(run: VesselRun, tmp_path: Path) -> None:
    """To the byte: nothing of this section is in them, neither styles nor keys nor files. (What any record has, the
    section of signals draws; it is left out.)"""
    others = tuple(name for name in SECTIONS.names() if name != "signals")
    cfg = run.cfg.model_copy(update={"report": run.cfg.report.model_copy(update={"sections": others})})
    run, bare = VesselRun(run.folder, cfg, run.results), VesselRun(tmp_path / "bare", cfg, run.results)
    shutil.copytree(run.folder, bare.folder)
    shutil.rmtree(bare.folder / "trials")
    run.rewrite(drop=["tip_pos3d"])
    run.report()
    bare.report()
    for name in FILES:
        assert (run.folder / name).read_bytes() == (bare.folder / name).read_bytes()
    for word in ("vessels-title", "vessel-", "passage", "lumen", ".t10", ".w10", "wall force over"):
        assert word not in run.page()
    assert "passages" not in json.loads((run.folder / "report.json").read_text())
    assert not (run.folder / "pictures").exists()


def test_runs_of_other_kinds_open_no_record(run: VesselRun, monkeypatch: pytest.MonkeyPatch) -> None:
    import dataclasses

    from proctor.suites.endovascular.report import records as vessel_records

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a record was opened")

    monkeypatch.setattr(vessel_records.np, "load", refuse)
    others = [dataclasses.replace(r, metrics={"action_abs_max": 1.0}) for r in run.results]
    assert VesselRun(run.folder, run.cfg, others).report().data("vessels") == ()


@pytest.mark.parametrize(
    ("drop", "gone", "kept"),
    [
        (SCENE, 'class="goal"', 'class="path t10"'),
        (("wire_pos3d",), "wire at the end</li>", 'class="goal"'),
        (("inserted_length",), "by inserted length", ">time (s)</text>"),
        (FORCES, "Wall force (", "nothing is said about safety"),
        (("wall_force_pos3d",), "nothing at all", 'class="peak"'),
        (("action_dt_s",), ">time (s)</text>", ">time (steps)</text>"),
    ],
)
def test_what_was_not_recorded_is_not_drawn(run: VesselRun, drop: tuple[str, ...], gone: str, kept: str) -> None:
    run.rewrite(drop)
    run.report()
    section = run.page().partition('<section id="vessels"')[2].partition("</section>")[0]
    assert gone not in section
    assert kept in section


def test_forces_that_are_nan_throughout_are_not_measured(tmp_path: Path) -> None:
    run = make_vessel_run(tmp_path / "run", ["a"], 1)
    arrays = passage_arrays(True, 40, 0.1)
    write_npz(run.folder / str(run.results[0].npz), {**arrays, **{name: np.full(40, np.nan) for name in FORCES}})
    assert run.report().data("vessels")[0].force is None
    one = {**arrays, **{name: np.full(40, np.nan) for name in FORCES[2:]}}
    write_npz(run.folder / str(run.results[0].npz), one)
    peak = run.report().data("vessels")[0].peak
    assert peak is not None
    assert peak.force == pytest.approx(0.2)


@pytest.mark.parametrize(
    "odd",
    [
        {"tip_pos3d": np.full((40, 3), np.nan)},
        {"tip_pos3d": np.zeros((40, 2))},
        {"tip_pos3d": np.zeros((0, 3))},
        {"tip_pos3d": np.array(["x"] * 40)},
    ],
)
def test_a_record_without_a_path_is_passed_over(tmp_path: Path, odd: dict[str, np.ndarray]) -> None:
    run = make_vessel_run(tmp_path / "run", ["a", "b"], 1)
    write_npz(run.folder / str(run.results[0].npz), {**passage_arrays(True, 40, 0.1), **odd})
    assert [p.agent for p in run.report().data("vessels")] == ["b"]


def test_records_that_are_gone_or_broken_leave_a_gap(run: VesselRun) -> None:
    (run.folder / str(run.results[0].npz)).unlink()
    (run.folder / str(run.results[4].npz)).write_bytes(b"not a record")
    assert [(p.agent, p.index) for p in run.report().data("vessels")] == [
        ("steady", 1),
        ("steady", 2),
        ("blind", 0),
        ("blind", 2),
    ]
    assert run.page().count("not recorded") == 2


@pytest.mark.parametrize(
    "odd", [{"vessel_radius": np.ones(3)}, {"vessel_branch": np.array(["a"])}, {"wire_pos3d": np.zeros((2, 3))}]
)
def test_odd_constants_are_left_out(tmp_path: Path, odd: dict[str, np.ndarray]) -> None:
    run = make_vessel_run(tmp_path / "run", ["a"], 1)
    write_npz(run.folder / str(run.results[0].npz), {**passage_arrays(True, 40, 0.1), **odd})
    (passage,) = run.report().data("vessels")
    assert passage.vessel is None or passage.wire is None


def test_a_hundred_trials_do_not_give_a_hundred_pictures(tmp_path: Path) -> None:
    run = make_vessel_run(tmp_path / "run", ["a", "b"], 100)
    report = run.report()
    assert len(report.data("vessels")) == 16
    assert run.page().count('<figure class="passage">') == 8 == len(list((run.folder / "pictures").iterdir()))
    assert "4 of 100 trials are shown" in run.page()
    assert len(run.page()) < 400_000


def test_many_agents_and_tasks_share_what_there_is(tmp_path: Path) -> None:
    names = [f"agent {i}" for i in range(9)]
    run = make_vessel_run(tmp_path / "run", names, 2, tasks=[f"arch {i}" for i in range(6)])
    report = run.report()
    assert len({p.agent for p in report.data("vessels")}) == AGENTS
    assert len({p.task for p in report.data("vessels")}) == TASKS
    assert len(report.data("vessels")) <= RECORDS
    assert sum(p.pictured for p in report.data("vessels")) <= PICTURES
    assert "and 6 of 9 agents are shown" in run.page()


def test_pictures_of_trials_that_are_no_longer_shown_go(run: VesselRun) -> None:
    pictures = run.folder / "pictures"
    pictures.mkdir()
    (pictures / "mine.png").write_bytes(b"x")
    old = pictures / f"{Path(str(run.results[0].npz)).stem}.png"
    old.write_bytes(b"x")
    VesselRun(run.folder, run.cfg, run.results[1:]).report()
    assert not old.exists()
    assert (pictures / "mine.png").exists()


def test_names_are_escaped(tmp_path: Path) -> None:
    run = make_vessel_run(tmp_path / "run", ["<b>x"], 1)
    path = run.folder / str(run.results[0].npz)
    write_npz(path, {**passage_arrays(True, 40, 0.1), "force_unit": np.array("<i>N")})
    run.report()
    assert "<b>x" not in run.page()
    assert "<i>N" not in run.page()


def test_a_run_of_the_embedded_simulator_fills_every_column_and_is_drawn(tmp_path: Path) -> None:
    cfg = config_from_dict(
        {
            "name": "short",
            "agents": [{"name": "push", "policy": "proctor.suites.endovascular.agents:PushOnly"}],
            "tasks": [{"suite": "endovascular"}],
            "n_trials": 1,
            "max_episode_steps": 12,
            "output_root": str(tmp_path),
        }
    )
    folder = Path(run_evaluation(cfg))
    with (folder / "summary.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file, delimiter=";")
    names = list(row)[: list(row).index("npz_path") + 1]
    blank = {name for name in names if row[name] == ""}
    assert blank - {"tool", "checkpoint"} == {"steps_to_success"}
    (passage,) = json.loads((folder / "report.json").read_text())["passages"]
    assert passage["force_unit"] == "N"
    assert (folder / passage["picture"]).exists()
    page = (folder / "report.html").read_text(encoding="utf-8")
    for word in ('class="wire"', 'class="goal"', 'class="lumen"', "Wall force (N)"):
        assert word in page
