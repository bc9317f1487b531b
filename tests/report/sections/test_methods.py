"""Groups of agents in a report: sentence, tables, keys and cautions."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_up_runs import Wins, config, made_up
from telling import Tell

from proctor.record.rundir import RunDir
from proctor.runs.report import write_report
from proctor_host.episode import Outcome
from proctor_host.trials import Trial

GOOD, BAD = (18, 17, 19, 16), (5, 8, 3, 6)
NAMES = tuple(f"{method}/{i}" for method in ("ppo", "sac") for i in range(4))
WINS = dict(zip(NAMES, (*GOOD, *BAD), strict=True))


def run_of(root: Path, names: tuple[str, ...] = NAMES, wins: Wins | None = None) -> RunDir:
    """Agents are in the group before their slash, and in none without one."""
    cfg = config(root, names)
    groups = [name.split("/")[0] if "/" in name else None for name in names]
    agents = [a.model_copy(update={"group": group}) for a, group in zip(cfg.agents, groups, strict=True)]
    return made_up(cfg.model_copy(update={"agents": tuple(agents)}), wins or won)


def won(trial: Trial) -> bool:
    return trial.index < WINS.get(trial.agent, 10)


def test_the_verdict_begins_with_the_methods(tmp_path: Path) -> None:
    report = write_report(run_of(tmp_path))
    assert report.verdict.startswith(
        "As methods, ppo is better than sac: mean score 0.88 over 4 agents against 0.28 over 4 agents, difference 0.60 "
    )
    assert "p = 0.029" in report.verdict


def test_report_json_has_members_and_pairs(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    write_report(run)
    found = run.report()["methods"]
    first = found["methods"][0]
    assert (found["measure"], first["method"], first["n"]) == ("score", "ppo", 4)
    assert first["value"] == pytest.approx(sum(GOOD) / 80)
    assert [member["agent"] for member in first["members"]] == list(NAMES[:4])
    (pair,) = found["pairs"]
    assert (pair["a"], pair["b"], pair["different"], pair["test"]) == ("ppo", "sac", True, "permutation of members")
    assert pair["p"] == pytest.approx(2 / 70)


def test_page_markdown_and_terminal_show_them(tmp_path: Path, tell: Tell) -> None:
    run = run_of(tmp_path)
    said = tell("report", run.path).out
    assert "ppo − sac" in said
    assert "mean of members" in said
    for name in ("report.html", "report.md"):
        assert "ppo − sac" in (run.path / name).read_text()


def test_two_trainings_are_too_few_and_a_caution_says_so(tmp_path: Path) -> None:
    report = write_report(run_of(tmp_path, ("ppo/0", "ppo/1", "sac/0", "sac/1")))
    assert report.verdict.startswith("As methods, ppo is not shown to be better than sac: ")
    assert "no test" in report.verdict
    (caution,) = [f.text for f in report.findings if "stand for a method" in f.text]
    assert caution.startswith("Fewer than 3 agents stand for a method (ppo has 2 and sac has 2)")


def test_an_agent_without_a_group_is_in_no_method(tmp_path: Path) -> None:
    report = write_report(run_of(tmp_path, (*NAMES, "script")))
    assert report.methods is not None
    assert "Agents without a group are in no method: script." in [f.text for f in report.findings]


def test_a_member_without_a_trial_is_a_caution(tmp_path: Path) -> None:
    report = write_report(run_of(tmp_path, wins=lambda t: Outcome.WORKER_LOST if t.agent == "ppo/2" else won(t)))
    assert report.methods is not None
    assert report.methods.pairs == ()
    assert any(f.text.startswith("ppo: no number for the method, because ppo/2 has none") for f in report.findings)


def test_without_groups_nothing_is_said_of_methods(tmp_path: Path) -> None:
    run = made_up(config(tmp_path, ("a", "b")), won)
    report = write_report(run)
    assert report.methods is None
    assert "methods" not in run.report()
    assert 'id="methods"' not in (run.path / "report.html").read_text()


def test_groups_can_be_named_afterwards_for_runs_and_imports(tmp_path: Path, tell: Tell) -> None:
    run = made_up(config(tmp_path, ("a", "b")), won)
    assert "mean of members" in tell("report", run.path, "--set", "agents.*.group=ppo").out
    assert run.config().agents[0].group is None
    (tmp_path / "robot.csv").write_text("agent,success\na,1\na,0\nb,1\nb,1\n")
    sets = ("--set", "agents.*.group=ppo")
    assert "mean of members" in tell("import", tmp_path / "robot.csv", "--output-root", tmp_path / "runs", *sets).out


def test_names_are_escaped(tmp_path: Path) -> None:
    run = run_of(tmp_path, ("<script>x</0", "<script>x</1"))
    write_report(run)
    assert "<script" not in (run.path / "report.html").read_text()
    assert "<script" not in (run.path / "report.md").read_text()
