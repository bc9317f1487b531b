"""Aggregates over tasks: those that the config asks for, in every file, of runs and of imported outcomes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_runs import config, made_up
from report_runs import Run
from telling import Tell

from proctor.config.models import ReportCfg
from proctor.errors import InputError
from proctor.record.rundir import RunDir
from proctor.report import Report, build_report
from proctor.report.formats.json_file import to_json
from proctor.report.formats.pages import to_html, to_markdown
from proctor.runs.report import write_report
from proctor_host.trials import Trial

ALL = ("mean", "iqm", "median", "trial_median", "optimality_gap")


def built(run: Run, **keys: Any) -> Report:
    return build_report(run.cfg.model_copy(update={"report": ReportCfg(**keys)}), iter(run.results), run.context)


def by_name(report: Report, agent: str) -> dict[str, dict[str, Any]]:
    return next(own for own in to_json(report)["aggregates"]["agents"] if own["agent"] == agent)


def ranks(trial: Trial) -> dict[str, Any]:
    """Returns that are known by hand: 0 to 7 on the first task, 8 to 15 on the second."""
    return {"outcome": True, "episode_reward": float(trial.index + 8 * (trial.task == "push"))}


def run_of_ranks(root: Path, agents: tuple[str, ...] = ("solo",), tasks: tuple[str, ...] = ("reach", "push")) -> Path:
    return made_up(config(root, agents, tasks, n_trials=8, scoring={"mode": "return"}), ranks).path


def test_they_are_the_numbers_by_hand(tmp_path: Path) -> None:
    run = made_up(
        config(
            tmp_path, ("solo",), ("reach", "push"), n_trials=8, scoring={"mode": "return"},
            report={"aggregates": ALL, "target": 10.0},
        ),
        ranks,
    )  # fmt: skip
    found = by_name(write_report(run), "solo")
    values = {name: found[name]["value"] for name in ALL}
    gap = 10 - np.minimum(np.arange(16), 10).mean()
    assert values == {"mean": 7.5, "iqm": 7.5, "median": 7.5, "trial_median": 7.5, "optimality_gap": gap}
    assert all(found[name]["n"] == 16 for name in ALL)
    assert all(found[name]["interval"][0] < values[name] < found[name]["interval"][1] for name in ALL)


def test_the_mean_is_the_one_of_the_ranking(run: Run) -> None:
    report = built(run, aggregates=("mean",))
    for agent in report.agents:
        found, score = by_name(report, agent.agent)["mean"], agent.overall.score
        assert (found["value"], found["interval"]) == (score.mean, list(score.interval or ()))


def test_tasks_as_a_sample_widen_the_interval(run: Run) -> None:
    """The three tasks of this run differ more than trials within them do."""
    within, over = (built(run, aggregates=("mean",), intervals=how) for how in ("stratified", "hierarchical"))
    for agent in ("expert", "student"):
        narrow, wide = (by_name(report, agent)["mean"]["interval"] for report in (within, over))
        assert wide[0] < narrow[0] < narrow[1] < wide[1]
    assert not [f for f in within.findings if "take the tasks for a sample" in f.text]
    (caution,) = [f for f in over.findings if "take the tasks for a sample" in f.text]
    assert caution.level == "caution"
    assert "there are 3 of them" in caution.text


def test_another_agent_and_another_order_change_no_interval(run: Run) -> None:
    both = built(run, aggregates=ALL, intervals="hierarchical")
    alone = replace(
        run,
        cfg=run.cfg.model_copy(update={"agents": run.cfg.agents[1:2]}),
        results=[r for r in run.results if r.trial.agent == "student"],
    )
    assert by_name(built(alone, aggregates=ALL[::-1], intervals="hierarchical"), "student") == by_name(both, "student")


def test_one_task_is_no_sample_of_tasks_and_says_so(build) -> None:
    report = built(build(["solo"], ["t"], 20, faults=0), aggregates=("iqm",), intervals="hierarchical")
    found = by_name(report, "solo")["iqm"]
    assert found["interval"] is None
    assert found["no_interval_because"] == "there is a single task, which tells nothing about other tasks"
    assert "no interval: there is a single task" in to_html(report)


def test_a_missing_score_leaves_no_aggregate(build) -> None:
    run = build(["solo"], ["t"], 20, faults=0, mode="return")
    run.results[3] = replace(run.results[3], episode_reward=None)
    found = by_name(built(run, aggregates=("iqm",)), "solo")["iqm"]
    assert found["value"] is None
    assert "some trials have no value" in found["no_interval_because"]


def test_no_aggregates_leave_no_trace(run: Run) -> None:
    report = built(run)
    assert "aggregates" not in to_json(report)
    assert 'id="aggregates"' not in to_html(report)
    assert "Aggregates" not in to_markdown(report)


def test_they_are_in_the_page_the_markdown_and_the_terminal(tmp_path: Path, tell: Tell) -> None:
    path = run_of_ranks(tmp_path, ("good", "bad"))
    before = (path / "config.json").read_text()
    said = tell("report", path, "--set", "report.aggregates=[iqm, optimality_gap]", "--set", "report.target=20").out
    assert "interquartile mean" in said
    assert "optimality gap to 20 (lower is better)" in said
    for name in ("report.html", "report.md"):
        assert "Aggregates over tasks" in (path / name).read_text()
    data = json.loads((path / "report.json").read_text())
    assert data["aggregates"]["agents"][0]["optimality_gap"]["value"] == 12.5
    assert (path / "config.json").read_text() == before


def test_report_changes_the_report_only(tmp_path: Path) -> None:
    path = run_of_ranks(tmp_path)
    with pytest.raises(InputError, match="proctor report cannot change n_trials; it changes report, agents"):
        write_report(RunDir.open(path), ["n_trials=3"])
    with pytest.raises(InputError, match=r"report\.aggregates\[0\]: .*expected one of mean, iqm, median"):
        write_report(RunDir.open(path), ["report.aggregates=[iqr]"])
    with pytest.raises(InputError, match="hierarchical intervals are those of aggregates, and none is asked for"):
        write_report(RunDir.open(path), ["report.intervals=hierarchical"])


def test_imported_outcomes_have_them(tmp_path: Path, tell: Tell) -> None:
    rows = [f"old,{task},{seed},{seed % 2},{seed + 10 * i}" for i, task in enumerate("ab") for seed in range(8)]
    (tmp_path / "robot.csv").write_text("\n".join(["agent,task,seed,success,score", *rows]) + "\n")
    sets = ("--set", "report.aggregates=[median]", "--set", "report.intervals=hierarchical")
    said = tell("import", tmp_path / "robot.csv", "--output-root", tmp_path / "runs", *sets).out
    assert "median of the tasks' means" in said
    (path,) = (tmp_path / "runs").iterdir()
    assert json.loads((path / "report.json").read_text())["aggregates"]["agents"][0]["median"]["value"] == 8.5
