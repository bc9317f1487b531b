"""What was declared, from the start of a run through resume, score, merge and import to every file of its report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examining import examination, policy, task
from telling import Tell

from proctor import ConfigError, InputError, Run, config_from_dict, run_evaluation
from proctor.runs.import_outcomes import ImportOptions, import_outcomes
from proctor.runs.merge import merge
from proctor.runs.resume import resume
from proctor.runs.score import score
from proctor.verdict.comparison.compare import compare

Examine = Callable[..., Run]
DECLARED = {"primary": "score", "n": 3, "alpha": 0.05, "margin": 0.02}
KEYS: dict[str, Any] = {"agents": [policy("Linear")], "tasks": [task()], "n_trials": 3, "scoring": "return"}


def deviations(run: Run) -> list[str]:
    return run.report()["declared"]["deviations"]


def test_the_hash_is_in_every_file(examine: Examine) -> None:
    run = examine(**KEYS, declare=DECLARED)
    found = run.report()["declared"]
    assert {key: found[key] for key in DECLARED} == DECLARED
    assert found["deviations"] == []
    assert len(found["sha256"]) == 64
    for name in ("report.html", "report.md"):
        assert found["sha256"] in (run.path / name).read_text()


def test_the_terminal_ends_with_it(examine: Examine, tell: Tell) -> None:
    run = examine(**KEYS, declare=DECLARED)
    short = run.report()["declared"]["sha256"][:16]
    assert f"declared protocol: sha256 {short}, no deviation" in tell("report", run.path).out
    resume(run.path, ["n_trials=4"])
    assert f"declared protocol: sha256 {short}, 2 deviations" in tell("report", run.path).out


def test_more_trials_are_a_deviation_and_a_caution(examine: Examine) -> None:
    run = examine(**KEYS, declare=DECLARED)
    resume(run.path, ["n_trials=5"])
    planned, changed = deviations(run)
    assert "5 trials of each agent are planned" in planned
    assert changed.endswith("was changed after 3 trials had finished, from 3 to 5")
    cautions = [f["text"] for f in run.report()["findings"] if f["level"] == "caution"]
    short = run.report()["declared"]["sha256"][:16]
    assert f"Deviation from the declared protocol ({short}): {changed}." in cautions


def test_another_declaration_on_resume_names_both_hashes(examine: Examine) -> None:
    run = examine(**KEYS, declare=DECLARED)
    first = run.report()["declared"]["sha256"]
    resume(run.path, ["declare.margin=0.1"])
    second = run.report()["declared"]["sha256"]
    said = f"the declaration was changed after 3 trials had finished, from {first[:16]} to {second[:16]}"
    assert deviations(run) == [said]
    resume(run.path, ["declare.margin=0.02"])
    assert deviations(run) == [said, said.replace(f"from {first[:16]} to {second[:16]}",
                                                 f"from {second[:16]} to {first[:16]}")]  # fmt: skip


def test_a_declaration_after_the_results_is_late(examine: Examine) -> None:
    run = examine(**KEYS)
    assert "declared" not in run.report()
    resume(run.path, ["declare={primary: score, n: 3}"])
    assert deviations(run) == ["it was declared after 3 trials had finished"]


def test_scoring_again_by_another_rule_is_a_deviation(examine: Examine) -> None:
    run = examine(**KEYS, declare=DECLARED)
    score(run.path)
    assert deviations(run) == []
    score(run.path, ["scoring.floor=0"])
    assert deviations(run) == ["the scoring was changed after 3 trials had finished: floor from None to 0.0"]


def test_the_declared_error_rate_is_that_of_the_report(examine: Examine) -> None:
    run = examine(**KEYS, declare={**DECLARED, "alpha": 0.1})
    assert run.report()["intervals"]["level"] == 0.9
    assert deviations(run) == []


def test_merged_shards_keep_it(tmp_path: Path) -> None:
    cfg = config_from_dict(examination(tmp_path / "parts", **KEYS, declare=DECLARED))
    parts = [run_evaluation(cfg, shard=f"{i}/2") for i in (1, 2)]
    assert deviations(merge([part.path for part in parts])) == []


def test_imported_outcomes_may_be_declared(tmp_path: Path) -> None:
    path = tmp_path / "robot.csv"
    path.write_text("agent,success,force\na,1,2\na,0,3\nb,1,4\nb,1,\n")

    def brought(primary: str, n: int) -> Run:
        sets = (f"declare={json.dumps({'primary': primary, 'n': n})}",)
        return import_outcomes(path, ImportOptions("robot", str(tmp_path / "runs"), overrides=sets)).run

    assert deviations(brought("success", 2)) == []
    (said,) = deviations(brought("force", 2))
    assert said == "agents are ranked by score (success), and force was declared as what decides"
    with pytest.raises(InputError, match='found "farce"; expected success, score or a column with numbers: force'):
        brought("farce", 2)


def test_a_metric_that_nobody_has_is_a_problem_of_the_config(tmp_path: Path) -> None:
    raw = examination(tmp_path, **KEYS, declare={"primary": "action_rate_meen", "n": 3})
    with pytest.raises(
        ConfigError, match=r'declare\.primary: found "action_rate_meen".*did you mean "action_rate_mean"'
    ):
        config_from_dict(raw)
    with pytest.raises(ConfigError, match=r"declare\.n: missing"):
        config_from_dict({**raw, "declare": {"primary": "success"}})


def test_a_comparison_at_another_level_is_a_deviation(tmp_path: Path) -> None:
    path = tmp_path / "robot.csv"
    path.write_text("agent,success\na,1\na,0\nb,1\nb,1\n")
    sets = ("declare={primary: success, n: 2, alpha: 0.01}",)
    run = import_outcomes(path, ImportOptions("robot", str(tmp_path / "runs"), overrides=sets)).run
    (said,) = [said for said in compare([run.path]).cautions if "declared alpha" in said]
    assert "declared alpha 0.01, and tests here have the error rate 0.05" in said
    assert not [said for said in compare([run.path], level=0.99).cautions if "declared alpha" in said]


def test_an_agent_with_fewer_imported_trials_deviates(tmp_path: Path) -> None:
    path = tmp_path / "robot.csv"
    path.write_text("agent,success\na,1\na,0\nb,1\n")
    sets = ("declare={primary: success, n: 2}",)
    run = import_outcomes(path, ImportOptions("robot", str(tmp_path / "runs"), overrides=sets)).run
    assert deviations(run) == ["only 1 of 2 trials of b on task are finished"]


def test_a_gate_by_another_margin_or_measure_is_a_deviation(tmp_path: Path, tell: Tell) -> None:
    path = tmp_path / "robot.csv"
    path.write_text("agent,success\na,1\na,0\nb,1\nb,1\n")
    sets = ("declare={primary: success, n: 2, margin: 0.1}",)
    run = import_outcomes(path, ImportOptions("robot", str(tmp_path / "runs"), overrides=sets)).run

    def said(*words: str, option: str = "--fail-if-worse") -> list[str]:
        told = tell("compare", run.path, option, *words, "--baseline", "a").out
        return [line for line in told.splitlines() if "declared protocol" in line]

    assert said("0.1") == []
    assert said("0.1", "--on", "score") == [], "the score of this run is success"
    (margin,) = said("0.05")
    assert margin.endswith("declared the margin 0.1, and the gate has 0.05: a deviation from its declared protocol.")
    (margin,) = said("0.05", option="--equivalent")
    assert "and the proof of equivalence has 0.05" in margin


def test_a_metric_that_decides_is_tested(tmp_path: Path) -> None:
    """Every trial succeeds, so success says nothing; the force tells the agents apart."""
    path = tmp_path / "robot.csv"
    forces = {"a": [5 + 0.1 * (i % 3) for i in range(12)], "b": [2 + 0.1 * (i % 4) for i in range(12)]}
    rows = [f"{agent},{seed},1,{force:.2f}" for agent, own in forces.items() for seed, force in enumerate(own)]
    path.write_text("\n".join(["agent,seed,success,force", *rows]) + "\n")
    sets = ("declare={primary: force, n: 12}",)
    found = import_outcomes(path, ImportOptions("robot", str(tmp_path / "runs"), overrides=sets))
    run, report = found.run, found.report
    (pair,) = run.report()["declared"]["pairs"]
    assert (pair["a"], pair["b"], pair["n"], pair["different"]) == ("a", "b", 12, True)
    assert pair["difference"] == pytest.approx(2.95)
    assert pair["p_adjusted"] < 0.05
    assert report.verdict.startswith("By force, which was declared to decide, a and b differ (a minus b 2.9")
    assert "a − b" in (run.path / "report.md").read_text()


def test_success_and_score_have_no_second_comparison(examine: Examine) -> None:
    assert "pairs" not in examine(**KEYS, declare=DECLARED).report()["declared"]
