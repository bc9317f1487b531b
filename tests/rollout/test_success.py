"""What counts as success, and from which step on."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examining import timeless
from flags import flags_task
from pydantic import ValidationError
from telling import Tell

from proctor import Run
from proctor.config.models import TaskCfg
from proctor.rollout.progress import UNSCORED, AgentProgress, Progress
from proctor.runs.replay import replay
from proctor.runs.score import score
from proctor_host.episode import Outcome

Examine = Callable[..., Run]
NO, YES = False, True


@pytest.mark.parametrize(
    ("flags", "at_end", "ever"),
    [
        ([NO, NO, NO], None, None),
        ([NO, NO, YES], 3, 3),
        ([YES, YES, YES], 1, 1),
        ([NO, YES, NO, YES, YES], 4, 2),
        ([NO, YES, YES, NO], None, 2),
        ([YES], 1, 1),
    ],
)
def test_steps_to_success_are_those_to_the_step_from_which_it_held(
    examine: Examine, flags: list[bool], at_end: int | None, ever: int | None
) -> None:
    tasks = [flags_task(flags, rule, success_rule=rule) for rule in ("at_end", "ever")]
    run = examine(agents=[{"name": "zero", "policy": "zero"}], tasks=tasks, n_trials=1)
    found = {result.trial.task: result for result in run.results()}
    for rule, step in (("at_end", at_end), ("ever", ever)):
        assert (found[rule].steps_to_success, found[rule].success) == (step, step is not None)
        assert found[rule].first_success == ever, "kept for scorings that pay for having been there"
        own = next(cell for cell in run.report()["agents"][0]["tasks"] if cell["task"] == rule)
        assert own["steps_to_success"]["mean"] == step


@pytest.mark.parametrize(
    ("flags", "kept"), [([YES, YES, YES], True), ([YES, YES, NO], False), ([NO, YES, YES], False), ([YES], True)]
)
def test_what_is_kept_throughout_is_reached_at_no_step(examine: Examine, flags: list[bool], kept: bool) -> None:
    run = examine(
        agents=[{"name": "zero", "policy": "zero"}], tasks=[flags_task(flags, success_rule="throughout")], n_trials=1
    )
    (result,) = run.results()
    assert (result.success, result.steps_to_success) == (kept, None)
    assert result.outcome is (Outcome.SUCCESS if kept else Outcome.FAILURE)
    score(run.path)
    assert [(again.success, again.steps_to_success) for again in run.results()] == [(kept, None)], "and by its record"
    assert "Steps to success" not in (run.path / "report.html").read_text()


def test_a_trial_that_would_stop_at_once_is_refused() -> None:
    with pytest.raises(ValidationError, match="throughout, which would end every trial at its first step"):
        TaskCfg(suite="gymnasium", name="t", success_rule="throughout", stop_on_success=True)


# Where nothing says what success is -----------------------------------------------------------------------------------


def undefined(**rest: Any) -> dict[str, Any]:
    return flags_task([None] * 4, **rest)


AGENTS = [{"name": "zero", "policy": "zero"}, {"name": "random", "policy": "random"}]


@pytest.mark.parametrize(
    "rest", [{}, {"vector": {"mode": "sync"}}, {"success_rule": "ever"}], ids=["env", "vector", "ever"]
)
def test_trials_are_done_and_neither_success_nor_failure(examine: Examine, rest: dict[str, Any]) -> None:
    run = examine(agents=AGENTS, tasks=[undefined(**rest)], scoring="return")
    assert {(r.outcome, r.success, r.steps_to_success) for r in run.results()} == {(Outcome.DONE, None, None)}
    report = run.report()
    for agent in report["agents"]:
        assert (agent["success_rate"], agent["success"]["n"], agent["steps_to_success_mean"]) == (None, 0, None)
        assert agent["n"] == 5
        assert agent["score_mean"] is not None
    assert [task["defines_success"] for task in report["tasks"]] == [False]
    assert {pair["success"]["difference"] for pair in report["comparison"]["pairs"]} == {None}
    assert {row["success"] for row in timeless(run)} == {""}
    assert "Nothing says what success is on flags: there is no success rate." in str(report["findings"])


def test_no_page_shows_a_success_rate(examine: Examine, tell: Tell, tmp_path: Path) -> None:
    run = examine(agents=AGENTS, tasks=[undefined()], scoring="return")
    pages = [(run.path / name).read_text() for name in ("report.md", "report.html")]
    pages.append(tell("report", run.path).out)
    assert tell("compare", run.path, "--out", tmp_path / "made").code == 0
    pages += [(tmp_path / "made" / name).read_text() for name in ("compare.md", "compare.html")]
    pages.append(tell("compare", run.path, "--out", tmp_path / "made").out)
    assert tell("leaderboard", run.path, "--out", tmp_path / "board").code == 0
    pages += [(tmp_path / "board" / name).read_text() for name in ("leaderboard.md", "leaderboard.html")]
    for page in pages:
        shown = re.sub(r"(?s)<details class=\"resolved\">.*?</details>|<style>.*?</style>", "", page)
        told = shown.replace("there is no success rate", "").replace("Nothing says what success is", "")
        assert not re.search(
            r"(?i)succe(ss rate|eded)|\| success|<th[^>]*>success\b(?! counts)|^ *rank .* success|\d points", told
        )


def test_a_single_agent_has_a_score_and_no_rate(examine: Examine) -> None:
    run = examine(agents=AGENTS[:1], tasks=[undefined()], scoring="return")
    assert re.fullmatch(r"zero has score .* in 5 trials; nothing says what success is\.", run.report()["verdict"])


def test_success_is_no_score_where_nothing_defines_it(examine: Examine) -> None:
    report = examine(agents=AGENTS, tasks=[undefined()], scoring="success").report()
    assert [agent["score_mean"] for agent in report["agents"]] == [None, None]
    assert report["verdict"] == "No ranking: no agent has a score for all of its scored trials."


def test_an_environment_that_reports_success_only_when_it_comes_had_none_elsewhere(examine: Examine) -> None:
    task = flags_task([None, None, True], silent=[124, 126])
    run = examine(agents=AGENTS[:1], tasks=[task])
    assert [(r.outcome, r.success) for r in run.results()] == [
        (Outcome.SUCCESS, True), (Outcome.FAILURE, False), (Outcome.SUCCESS, True), (Outcome.FAILURE, False),
        (Outcome.SUCCESS, True),
    ]  # fmt: skip
    report = run.report()
    assert (report["agents"][0]["success_rate"], report["agents"][0]["score_mean"]) == (0.6, 0.6)
    short = examine(agents=AGENTS[:1], tasks=[{**task, "name": "short", "max_episode_steps": 2}])
    assert {r.outcome for r in short.results()} == {Outcome.DONE}, "nobody has said anything in two steps"


def test_rates_are_of_the_tasks_that_define_success(examine: Examine) -> None:
    tasks = [undefined(), flags_task([False, True], "other")]
    report = examine(agents=AGENTS, tasks=tasks, scoring="return").report()
    for agent in report["agents"]:
        assert (agent["success_rate"], agent["success"]["n"], agent["n"]) == (1.0, 5, 10)
        assert [cell["success"]["rate"] for cell in agent["tasks"]] == [None, 1.0]


def test_a_rule_of_the_config_defines_success(examine: Examine) -> None:
    run = examine(agents=AGENTS, tasks=[undefined(success={"terminated": True})])
    assert {r.outcome for r in run.results()} == {Outcome.SUCCESS}


@pytest.mark.parametrize("rest", [{}, {"vector": {"mode": "sync"}}], ids=["env", "vector"])
def test_an_entry_of_info_that_never_comes_is_a_caution_and_no_rate(examine: Examine, rest: dict[str, Any]) -> None:
    task = flags_task([False, True], success={"info": "final.docked"}, **rest)
    report = examine(agents=AGENTS[:1], tasks=[task]).report()
    assert report["agents"][0]["success_rate"] is None
    assert {
        "level": "caution",
        "text": 'Success on flags goes by info["final.docked"], which no step of any trial had: there is no success '
        "rate. Compare the name with what the environment gives, or say success in another way.",
    } in report["findings"]


def test_an_entry_of_info_that_comes_in_some_trial_is_none_elsewhere(examine: Examine) -> None:
    task = flags_task([None, None, True], silent=[124, 126], success={"info": "success"})
    run = examine(agents=AGENTS[:1], tasks=[task])
    assert [r.success for r in run.results()] == [True, False, True, False, True]
    assert run.report()["agents"][0]["success_rate"] == 0.6
    assert "which no step" not in str(run.report()["findings"])
    assert replay(run.path, "zero/flags/0001").equal, "alone it says nothing, and its bytes are the same"


def test_progress_has_a_rate_where_some_trial_says_what_success_is() -> None:
    progress = Progress(agents={"a": AgentProgress()})
    progress.count("a", "silent", None, 4)
    assert progress.success_rate("a") is None
    progress.count("a", "sparse", None)
    progress.count("a", "sparse", True)
    progress.count("a", "sparse", UNSCORED)
    assert progress.success_rate("a") == 0.5
    assert (progress.agents["a"].scored, progress.agents["a"].unscored, progress.unscored) == (6, 1, 1)


# Where the score is success ------------------------------------------------------------------------------------------


def test_a_score_that_repeats_success_has_no_tables_of_its_own(examine: Examine, tell: Tell) -> None:
    task = flags_task([False, True], silent=[123])
    run = examine(agents=AGENTS, tasks=[task, {**task, "name": "other"}], scoring="success")
    page, words = ((run.path / f"report.{kind}").read_text() for kind in ("html", "md"))
    said = tell("report", run.path).out
    assert "Success rate, with successes of scored trials" in page
    assert "Mean score, with its interval" not in page
    assert "Score components by agent" not in page
    ranking = re.compile(r'<table class="ranking[^"]*">(?:(?!</thead>).)*<th scope="col">Score</th>', re.DOTALL)
    assert not ranking.search(page)
    assert not re.search(r"(?m)^\|.*\bscore\b.*\|$", words)
    assert " score " not in said.splitlines()[1]
    floored = examine(agents=AGENTS, tasks=[task], scoring={"mode": "success", "floor": -1})
    assert ranking.search((floored.path / "report.html").read_text()), "these are not the same"
