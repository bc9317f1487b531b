"""Rates by task in a terminal: what a reader of a benchmark with many tasks looks for first."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from report_runs import make_run
from rich.console import Console

from proctor.report import Report, build_report
from proctor.report.console import below_ranking
from proctor.report.section import Grid
from proctor.report.sections.results import Tasks

TASKS = ["lift", "pour", "stack"]


def report(agents: list[str], tasks: list[str], n_trials: int = 8) -> Report:
    run = make_run(agents, tasks, n_trials)
    return build_report(run.cfg, iter(run.results), run.context)


def grid(found: Report) -> Grid:
    (shown,) = Tasks().terminal(found, None)
    assert isinstance(shown, Grid)
    return shown


def test_every_task_has_a_row_with_successes_of_scored_trials() -> None:
    found = report(["a", "b"], TASKS)
    shown = grid(found)
    assert shown.header == ("task", *(agent.agent for agent in found.agents))
    assert [row[0] for row in shown.rows] == TASKS
    for row, task in zip(shown.rows, range(len(TASKS)), strict=True):
        for cell, agent in zip(row[1:], found.agents, strict=True):
            rate = agent.cells[task].summary.success
            assert rate.rate is not None
            assert f"({rate.successes}/{rate.n}) [" in cell
            assert f"{100 * rate.rate:.0f} %" in cell
    assert shown.caption == "success, of scored trials, by task; […]: 95 % interval"


def test_several_agents_have_no_intervals_and_more_are_in_the_report() -> None:
    found = report([f"a{i}" for i in range(6)], [f"t{i}" for i in range(50)], 2)
    shown = grid(found)
    assert (len(shown.header), len(shown.rows)) == (5, 40)
    assert not any("[" in cell for row in shown.rows for cell in row)
    assert shown.caption == "success, of scored trials, by task; 10 more tasks and 2 more agents in the report"


def test_one_task_stands_in_the_ranking_alone() -> None:
    assert list(Tasks().terminal(report(["a", "b"], ["lift"]), None)) == []


def test_where_nothing_says_what_success_is_the_score_is_shown() -> None:
    found = report(["a"], TASKS)
    tasks = tuple(replace(task, defines_success=False) for task in found.tasks)
    shown = grid(replace(found, tasks=tasks))
    assert shown.caption.startswith("mean score, by task")
    score = found.agents[0].cells[0].summary.score
    assert f"(n {score.n})" in shown.rows[0][1]


@pytest.mark.parametrize("name", ["[red]arm", "task"])
def test_names_are_shown_as_they_are(name: str) -> None:
    out = io.StringIO()
    console = Console(file=out, width=200)
    for part in below_ranking(report([name], ["[b]lift", "pour"])):
        console.print(part)
    assert name in out.getvalue()
    assert "[b]lift" in out.getvalue()
