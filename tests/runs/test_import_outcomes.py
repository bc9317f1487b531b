"""Outcomes from a CSV file: what is read, what is paired, and what is refused, by row and column."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest

from proctor.cli import main
from proctor.errors import InputError
from proctor.record.rundir import RunDir
from proctor.runs.import_outcomes import ImportOptions, import_outcomes
from proctor.verdict.comparison.compare import compare


def brought(tmp_path: Path, text: str, name: str = "robot") -> RunDir:
    path = tmp_path / f"{name}.csv"
    path.write_text(text)
    return import_outcomes(path, ImportOptions(name, str(tmp_path / "runs"))).run


def test_outcomes_become_a_run_with_reports(tmp_path: Path) -> None:
    run = brought(
        tmp_path,
        "agent,task,seed,success,score,steps,force_n,case\n"
        'old,pick,7,1,0.9,30,2.5,"mug, red"\nold,pick,8,no,0.1,60,,cup\n'
        "new,pick,8,true,0.5,40,1,cup\nnew,pick,7,0,0.3,60,4,\n",
    )
    results = {(r.trial.agent, r.trial.seed): r for r in run.results()}
    first = results["old", 7]
    assert (first.success, first.episode_reward, first.steps_total, first.case) == (True, 0.9, 30, "mug, red")
    assert first.metrics == {"force_n": 2.5}
    assert results["old", 8].metrics == {"force_n": None}
    report = run.report()
    assert [a["agent"] for a in report["agents"]] == ["old", "new"]
    assert report["agents"][0]["score_mean"] == pytest.approx(0.5)
    assert any(
        "robot.csv: what the file does not have, such as steps and times, is left empty." in f["text"]
        for f in report["findings"]
    )
    (pair,) = compare([run.path]).comparison.pairs
    assert pair.paired
    assert pair.discordance == (0, 1, 1, 0)


def test_steps_and_times_that_a_file_does_not_have_are_shown_nowhere(tmp_path: Path) -> None:
    run = brought(tmp_path, "agent,success\nold,1\nold,0\nnew,1\nnew,1\n")
    assert {(r.steps_total, r.max_steps, r.wall_time_s) for r in run.results()} == {(None, None, None)}
    with (run.path / "summary.csv").open() as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    names = ("steps_total", "steps_to_success", "max_steps", "wall_time_s", "sim_time_s", "episode_reward")
    assert {row[name] for row in rows for name in names} == {""}
    report = run.report()
    for agent in report["agents"]:
        assert [agent[name]["mean"] for name in ("steps_total", "steps_to_success", "wall_time_s")] == [None] * 3
    assert [task["max_steps"] for task in report["tasks"]] == [None]
    page = (run.path / "report.html").read_text()
    assert "0 steps" not in page
    assert "0 s<" not in page
    assert "| – | 0 |" in (run.path / "report.md").read_text(), "steps, and no unscored trials"


def test_outcomes_that_are_done_have_no_success_rate(tmp_path: Path) -> None:
    run = brought(tmp_path, "agent,outcome,score\nold,done,3\nold,done,4\nnew,done,5\nnew,done,7\n")
    assert {r.success for r in run.results()} == {None}
    assert [(a["success_rate"], a["score_mean"]) for a in run.report()["agents"]] == [(None, 6.0), (None, 3.5)]


def test_without_seeds_trials_are_independent(tmp_path: Path) -> None:
    run = brought(tmp_path, "agent;success\nold;1\nold;0\nnew;1\nnew;1\nnew;0\n")
    assert run.config().scoring.mode == "success"
    found = compare([run.path])
    assert found.comparison.pairs[0].unpaired_because == "trials do not say which of them began alike"
    assert (found.comparison.pairs[0].n_a, found.comparison.pairs[0].n_b) == (3, 2)
    assert run.report()["comparison"]["pairs"][0]["paired"] is False


def test_two_files_are_paired_by_seed(tmp_path: Path) -> None:
    base = brought(tmp_path, "agent,seed,success\np,5,1\np,9,0\np,6,1\n", "base")
    new = brought(tmp_path, "agent,seed,success\np,9,1\np,5,1\n", "new")
    (pair,) = compare([base.path, new.path]).comparison.pairs
    assert pair.paired
    assert pair.n_a == 2


def test_repeated_seeds_need_a_trial_number(tmp_path: Path) -> None:
    rows = "p,5,{},1\np,5,{},0\nq,5,{},1\nq,5,{},1\n"
    run = brought(tmp_path, "agent,seed,trial,success\n" + rows.format(0, 1, 0, 1))
    assert [(r.trial.index, r.trial.seed) for r in run.results()] == [(0, 5), (1, 5), (0, 5), (1, 5)]
    with pytest.raises(InputError, match="row 3: p on task has seed 5 already, in row 2; number repeated trials"):
        brought(tmp_path, "agent,seed,success\np,5,1\np,5,0\n")


def test_what_does_not_count_is_unscored(tmp_path: Path) -> None:
    run = brought(tmp_path, "agent,outcome\np,success\np,timeout\np,truncated\nq,success\nq,failure\n")
    (p, q) = sorted(run.report()["agents"], key=lambda a: a["agent"])
    assert (p["success"]["successes"], p["n"], p["n_unscored"]) == (1, 2, 1)
    assert q["n"] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "row 1: no column agent and no column success; found nothing"),
        ("agent,task\na,b\n", "row 1: no column success; found agent, task. Expected agent and success"),
        ("agent,agent,success\na,b,1\n", 'row 1: column "agent" is there twice'),
        ("agent,success\n", "has a header and no rows; expected a row per trial"),
        ("agent,success\na,1\n,1\n", "row 3, column agent: found nothing, expected a name"),
        ("agent,success\na,maybe\n", 'row 2, column success: found "maybe", expected 1 or 0, true or false'),
        ("agent,success\na,\n", "row 2, column success: found nothing, expected 1 or 0"),
        ("agent,success,seed\na,1,1.5\n", 'row 2, column seed: found "1.5", expected a whole number from 0 on'),
        ("agent,success,score\na,1,inf\n", 'row 2, column score: found "inf", expected a finite number'),
        ("agent,success,score\na,1,0.5\na,0,\n", "row 3, column score: empty, while other rows have one"),
        ("agent,success,seed\na,1,5\na,0,\n", "row 3, column seed: empty, while other rows have one"),
        ("agent,success,weight\na,1,heavy\n", 'row 2, column weight: found "heavy", expected a number'),
        ("agent,success\na,1,9\n", "row 2: more cells than the header has columns"),
        ("agent,outcome\na,won\n", 'row 2, column outcome: found "won", expected one of success, failure'),
        ("agent,success,outcome\na,1,failure\n", 'row 2, column success: found "1", expected 0, since the outcome is'),
        ("agent,success,max_steps\na,1,0\n", 'row 2, column max_steps: found "0", expected a whole number from 1 on'),
    ],
)
def test_bad_files_are_named_by_row_and_column(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        brought(tmp_path, text)
    assert message in str(refused.value)


def test_a_missing_file_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*nothing\.csv; expected a CSV file"):
        import_outcomes(tmp_path / "nothing.csv", ImportOptions("x"))


def test_import_shows_the_report(tmp_path: Path, monkeypatch, capsys) -> None:
    path = tmp_path / "lab.csv"
    path.write_text("agent,success\na,1\nb,0\n")
    monkeypatch.setattr(sys, "argv", ["proctor", "import", str(path), "--output-root", str(tmp_path), "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out)["name"] == "lab"
