"""`proctor leaderboard` and `proctor score --weights`, by the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from examining import examination
from paying import kick_task
from telling import Balanced, Tell
from term_runs import TARGET, TASKS, contest

from proctor import Run
from proctor.scoring import make_scoring

FILES = ("leaderboard.json", "leaderboard.csv", "leaderboard.md", "leaderboard.html")


# Leaderboard ----------------------------------------------------------------------------------------------------------


def test_a_table_a_verdict_and_four_files(tmp_path: Path, tell: Tell) -> None:
    path = contest(tmp_path)
    said = tell("leaderboard", path)
    assert said.code == 0
    assert "striker is better than statue, walker and clumsy: score 1.4" in said.out
    assert "repeat" not in said.out, "equal episodes of different seeds are no repeats"
    assert said.out.splitlines()[-1] == f"leaderboard: {path / 'leaderboard.html'}"
    assert all((path / name).is_file() for name in FILES)


def test_the_files_have_the_same_numbers(tmp_path: Path, tell: Tell) -> None:
    path = contest(tmp_path)
    said = tell("leaderboard", path, "--json", "--out", tmp_path / "there", "--weight", f"{TARGET}=2")
    found = json.loads((tmp_path / "there" / "leaderboard.json").read_text())
    assert json.loads(said.out) == found
    assert not (path / "leaderboard.json").exists()
    assert found["weights"] == {TASKS[0]: 0.25, TASKS[1]: 0.25, TARGET: 0.5}
    with (tmp_path / "there" / "leaderboard.csv").open() as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    for row, agent in zip(rows, found["agents"], strict=True):
        assert (row["agent"], float(row["score"]), int(row["rank"])) == (agent["agent"], agent["score"], agent["rank"])
        ends = [float(row[end]) for end in ("score_low", "score_high") if row[end]]
        assert (ends or None) == agent["interval"], "blank where scores of a task do not vary"
        assert float(row["term steps"]) == agent["terms"]["steps"]
        assert (row[f"n {TASKS[0]}"], row[f"n_repeats {TASKS[0]}"]) == ("12", "0")
        assert row["advice"] == agent["advice"][0]["text"]
    words = (tmp_path / "there" / "leaderboard.md").read_text()
    assert f"**{found['verdict'].replace('<', '&lt;')}**" in words
    assert "each with its weight: GoaliePenaltyKick 25 %, ObstaclePenaltyKick 25 %, KickToTarget 50 %." in words


def test_intervals_of_tasks_whose_scores_vary_are_in_the_table(tmp_path: Path, tell: Tell) -> None:
    path = contest(tmp_path, tasks=TASKS[1:])
    found = json.loads(tell("leaderboard", path, "--json").out)
    with (path / "leaderboard.csv").open() as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    for row, agent in zip(rows, found["agents"], strict=True):
        assert [float(row["score_low"]), float(row["score_high"])] == agent["interval"]


def test_advice_reads_like_a_sentence(tmp_path: Path, tell: Tell) -> None:
    found = json.loads(tell("leaderboard", contest(tmp_path), "--json").out)
    texts = {a["agent"]: [advice["text"] for advice in a["advice"]] for a in found["agents"]}
    assert "fell in 96 % of episodes: −0.96" in texts["clumsy"]
    assert "scored a goal in 0 % of episodes: up to +1.67" in texts["statue"]
    assert "ball_vel_twd_goal adds 0.00, and +0.80 for clumsy: +0.80" in texts["statue"]


def test_the_page_is_whole_escaped_and_needs_no_network(tmp_path: Path, tell: Tell) -> None:
    path = contest(tmp_path, "a <b>bold</b> & run")
    assert tell("leaderboard", path, "--quiet").code == 0
    page = (path / "leaderboard.html").read_text()
    assert "<b>bold" not in page
    assert "a &lt;b&gt;bold&lt;/b&gt; &amp; run" in page
    assert "http" not in page
    assert "<script" not in page
    for words in ("What each term contributed", "What would raise a score", "n 12"):
        assert words in page
    assert page.count('<figure class="terms">') == 4, "all tasks, then each"
    Balanced().check(page)


def test_one_agent_on_one_task(tmp_path: Path, tell: Tell) -> None:
    said = tell("leaderboard", contest(tmp_path, agents=("walker",), tasks=(TARGET,)), "--quiet")
    assert said.code == 0
    assert said.out.startswith("walker has the score 0.1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--weight", "KickToTarget"), "--weight KickToTarget: expected TASK=NUMBER"),
        (("--weight", "KickToTarget=nan"), "--weight KickToTarget=nan: expected TASK=NUMBER"),
        (("--weight", "KickToTarget=1", "--weight", "KickToTarget=2"), "KickToTarget is given twice"),
        (("--weight", "Kick=1"), 'no task "Kick"; did you mean "KickToTarget"?'),
        (("--level", "2"), "a level of 2; it lies between 0 and 1"),
        (("--out", "FILE"), "name a folder: --out FOLDER"),
    ],
)
def test_bad_options_are_code_2(tmp_path: Path, tell: Tell, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "file").write_text("")
    given = [tmp_path / "file" if word == "FILE" else word for word in arguments]
    said = tell("leaderboard", contest(tmp_path), *given)
    assert said.code == 2
    assert message in said.err


def test_runs_that_differ_and_folders_that_are_none_are_code_2(tmp_path: Path, tell: Tell) -> None:
    paths = contest(tmp_path, "a"), contest(tmp_path, "b", base_seed=5)
    refused = tell("leaderboard", *paths)
    assert refused.code == 2
    assert "seeds from: 123 against 5" in refused.err
    assert tell("leaderboard", tmp_path / "nothing").code == 2
    assert "named twice" in tell("leaderboard", paths[0], paths[0]).err


# Other weights --------------------------------------------------------------------------------------------------------


def totals(run: Run) -> dict[str, float | None]:
    scoring = make_scoring(run.config().scoring)
    return {result.trial.key: scoring.score(result).total for result in run.results()}


def test_other_weights_equal_a_run_with_these_weights(tmp_path: Path, tell: Tell) -> None:
    path = contest(tmp_path, "one")
    own = {"goal_scored": 5.0, "offside": -1.0}
    by_task = {task: own if task != TARGET else {"offside": -1.0} for task in TASKS}
    other = contest(tmp_path, "other", options={"preset": "sai", "task_weights": by_task})
    before = totals(Run.open(path))
    assert tell("score", path, "--weights", "goal_scored=5", "--weights", "offside=-1").code == 0
    assert totals(Run.open(path)) == totals(Run.open(other)) != before
    words = json.loads((path / "report.json").read_text())["findings"]
    (said,) = [f for f in words if f["text"].startswith("These are not the official weights")]
    assert said["level"] == "caution"
    assert "KickToTarget: offside" not in said["text"], "its official weight is -1"
    assert tell("score", path, "--set", "scoring.options={preset: sai}").code == 0
    assert totals(Run.open(path)) == before


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("goal_score=5", 'no task recorded a term "goal_score"; did you mean "goal_scored"?'),
        ("goal_scored=much", "--weights goal_scored=much: expected TERM=NUMBER"),
        ("goal_scored", "--weights goal_scored: expected TERM=NUMBER"),
    ],
)
def test_wrong_weights_are_refused_and_change_nothing(tmp_path: Path, tell: Tell, weights: str, message: str) -> None:
    path = contest(tmp_path)
    before = (path / "config.json").read_bytes()
    said = tell("score", path, "--weights", weights)
    assert said.code == 2
    assert message in said.err
    assert (path / "config.json").read_bytes() == before


def test_a_scoring_that_finds_no_terms_is_refused_before_it_is_kept(tmp_path: Path, tell: Tell) -> None:
    path = contest(tmp_path)
    before = (path / "config.json").read_bytes()
    said = tell("score", path, "--set", "scoring.options={weights: {goal: 1}}")
    assert said.code == 2
    assert 'a weight for "goal", a term that the task "GoaliePenaltyKick" did not record' in said.err
    assert (path / "config.json").read_bytes() == before


# Whole runs -----------------------------------------------------------------------------------------------------------


def test_from_a_config_to_a_leaderboard_and_other_weights(tmp_path: Path, tell: Tell) -> None:
    """In a task where the seed changes nothing, a deterministic agent has one episode."""
    weights = {"distance": 0.5, "goal_scored": 2.5, "robot_fallen": -1.5, "steps": -0.3}
    keys = {
        "agents": [{"name": "random", "policy": "random"}, {"name": "zero", "policy": "zero"}],
        "tasks": [kick_task(), kick_task("still", still=True)],
        "n_trials": 6,
        "scoring": {"mode": "terminal", "options": {"weights": weights}},
    }
    config = tmp_path / "exam.yml"
    config.write_text(yaml.safe_dump(examination(tmp_path / "out", **keys)))
    assert tell("check", config).code == 0
    assert tell("run", config, "--quiet").code == 0
    path = next((tmp_path / "out").glob("*/ledger.sqlite")).parent
    found = {a["agent"]: a for a in json.loads(tell("leaderboard", path, "--json").out)["agents"]}
    assert [(task["n"], task["n_repeats"]) for task in found["zero"]["tasks"]] == [(6, 0), (1, 5)]
    assert [(task["n"], task["n_repeats"]) for task in found["random"]["tasks"]] == [(6, 0), (6, 0)]
    page = (path / "report.html").read_text()
    assert "Trials that repeat an episode (up to 5 of an agent) are left out" in page
    assert page.count('<figure class="terms">') == 2
    assert "Recorded terms without a weight count nothing: kick: far; still: far." in page
    Balanced().check(page)
    official: Any = totals(Run.open(path))
    assert tell("score", path, "--weights", "far=10").code == 0
    run = Run.open(path)
    for result, (key, total) in zip(run.results(), totals(run).items(), strict=True):
        assert total == pytest.approx(official[key] + 10 * run.episode(result).arrays["term/far"][-1])


def test_check_finds_a_weight_without_a_term(tmp_path: Path, tell: Tell) -> None:
    config = tmp_path / "exam.yml"
    keys = {"tasks": [kick_task()], "agents": [{"policy": "zero"}]}
    scoring = {"mode": "terminal", "options": {"weights": {"goal_score": 1.0}}}
    config.write_text(yaml.safe_dump(examination(tmp_path / "out", **keys, scoring=scoring)))
    said = tell("check", config)
    assert said.code == 2
    assert 'did you mean "goal_scored"?' in said.out + said.err
