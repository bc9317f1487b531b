"""Tools in a report: their ranking, their agents, and what one agent to a tool does not show."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from vessel_runs import VesselRun, make_vessel_run

from proctor.report.section import Grid
from proctor.suites.endovascular.report.by_tool import RANKED, ToolTables, tool_of


def run_with(folder: Path, tools: Mapping[str, Any], by_task: Mapping[str, str] | None = None) -> VesselRun:
    """Agents by name with their tools (None: the task's); tasks with theirs."""
    made = make_vessel_run(folder, list(tools), 3, list(by_task or {"arch": ""}))
    agents = tuple(
        agent.model_copy(update={"task_options": {} if tools[agent.name] is None else {"tool": tools[agent.name]}})
        for agent in made.cfg.agents
    )
    options = by_task or {}
    tasks = tuple(task.model_copy(update={"options": {"tool": options.get(task.name)}}) for task in made.cfg.tasks)
    return VesselRun(made.folder, made.cfg.model_copy(update={"agents": agents, "tasks": tasks}), made.results)


def written(run: VesselRun) -> dict[str, Any]:
    run.report()
    return json.loads((run.folder / "report.json").read_text())


def table(page: str, heading: str) -> Sequence[str]:
    return page.partition(heading)[2].partition("\n\n###")[0].splitlines()


def test_tools_are_ranked_by_the_agents_that_worked_with_them(tmp_path: Path) -> None:
    run = run_with(tmp_path / "run", {"a": "angled", "b": "j_tip", "c": "angled", "d": "j_tip"})
    told = written(run)
    found = {own["tool"]: own for own in told["tools"]["tools"]}
    scores = {own["agent"]: own["score_mean"] for own in told["agents"]}
    assert list(found) == ["angled", "j_tip"]
    assert found["angled"]["value"] == pytest.approx((scores["a"] + scores["c"]) / 2)
    assert found["angled"]["best_agent"] == "a"
    assert (found["angled"]["successes"], found["angled"]["n_trials"], found["angled"]["n_agents"]) == (3, 6, 2)
    assert [member["agent"] for member in found["j_tip"]["agents"]] == ["b", "d"]
    (pair,) = told["tools"]["pairs"]
    assert pair["difference"] == pytest.approx(found["angled"]["value"] - found["j_tip"]["value"])
    assert not pair["different"], "two agents of each are too few to show it"
    page, text = run.page(), (run.folder / "report.md").read_text()
    assert '<section id="tools"' in page
    assert "Ranking of tools" in page
    own = table(text, "### angled")
    assert "| a | 1 |" in "\n".join(own)
    assert "| c | 2 |" in "\n".join(own)
    said = [finding["text"] for finding in told["findings"] if finding["text"].startswith("By tool")]
    assert len(said) == 1
    assert said[0].startswith("By tool: fewer than 3 agents stand for a tool (angled has 2 and j_tip has 2)")


def test_with_one_agent_each_it_says_that_tool_and_agent_cannot_be_separated(tmp_path: Path) -> None:
    told = written(run_with(tmp_path / "run", {"a": "angled", "b": "j_tip"}))
    assert any(
        finding["text"].startswith("By tool: each tool has one agent, so the effect of the tool cannot be separated")
        for finding in told["findings"]
    )
    assert [own["interval"] for own in told["tools"]["tools"]] == [None, None]
    assert told["tools"]["pairs"][0]["p_adjusted"] is None


def test_a_tool_of_the_task_counts_where_an_agent_brings_none(tmp_path: Path) -> None:
    told = written(run_with(tmp_path / "run", {"a": None, "b": None}, {"narrow": "angled", "wide": "j_tip"}))
    found = {own["tool"]: own for own in told["tools"]["tools"]}
    assert {tool: own["n_agents"] for tool, own in found.items()} == {"angled": 2, "j_tip": 2}
    assert {tool: own["n_trials"] for tool, own in found.items()} == {"angled": 6, "j_tip": 6}


def test_one_tool_for_all_or_none_at_all_has_no_section(tmp_path: Path) -> None:
    one = run_with(tmp_path / "one", {"a": "angled", "b": "angled"})
    assert "tools" not in written(one)
    none = run_with(tmp_path / "none", {"a": None, "b": None})
    assert "tools" not in written(none)
    assert 'id="tools"' not in none.page()


def test_a_tool_without_a_name_is_custom() -> None:
    config = {
        "agents": [{"name": "a", "task_options": {"tool": {"length_mm": 5}}}, {"name": "b", "task_options": {}}],
        "tasks": [{"name": "t", "options": {"tool": "angled"}}, {"name": "u", "options": {}}],
    }
    assert [tool_of(config, agent, task) for agent in "ab" for task in "tu"] == ["custom", "custom", "angled", None]


def test_the_terminal_has_the_ranking(tmp_path: Path) -> None:
    run = run_with(tmp_path / "run", {"a": "angled", "b": "j_tip", "c": "angled"})
    report = run.report()
    shown = next(own for own in report.sections if own.section.key == "tools")
    grid, _ = shown.section.terminal(report, shown.data)
    assert grid.header == RANKED
    assert [row[0] for row in grid.rows] == ["angled", "j_tip"]


def test_every_two_tools_are_shown_against_each_other(tmp_path: Path) -> None:
    tools = {"a": "angled", "b": "j_tip", "c": "angled", "d": "j_tip", "e": "micro"}
    run = run_with(tmp_path / "run", tools)
    told = written(run)
    pairs = [f"{pair['a']} − {pair['b']}" for pair in told["tools"]["pairs"]]
    assert len(pairs) == 3
    assert all(0 <= end <= 1 for own in told["tools"]["tools"] if own["interval"] for end in own["interval"])
    page, words = run.page(), (run.folder / "report.md").read_text()
    grids = [grid for grid in ToolTables().terminal(run.report(), None) if isinstance(grid, Grid)]
    shown = {row[0]: row for row in grids[1].rows}
    for pair in pairs:
        assert pair in page
        assert pair.replace("_", "\\_") in words
        assert shown[pair][-1] == "too few agents for a test"
