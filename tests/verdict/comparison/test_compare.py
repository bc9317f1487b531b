"""Runs against runs: names, protocols, pairs, and the gate; by the command line where a user would."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_up_runs import below, run_of
from telling import Balanced

from proctor.config.models import ScoringCfg, TaskCfg
from proctor.errors import InputError
from proctor.report.build import judgement
from proctor.verdict.comparison.compare import compare
from proctor_host.episode import Outcome
from proctor_host.trials import Trial

# Names and pairs ------------------------------------------------------------------------------------------------------


def test_agents_of_one_run_keep_their_names(tmp_path: Path) -> None:
    path = run_of(tmp_path, "one", lambda t: t.agent == "good" or t.index < 4, ("bad", "good"))
    found = compare([path])
    assert [s.agent for s in found.comparison.agents] == ["good", "bad"]
    (pair,) = found.comparison.pairs
    assert pair.paired
    assert pair.discordance == (4, 16, 0, 0)
    assert found.cautions == ()


def test_agents_of_the_same_name_are_named_by_their_run(tmp_path: Path) -> None:
    base, new = run_of(tmp_path, "base", below(12)), run_of(tmp_path, "new", below(15), ("policy", "other"))
    found = compare([base, new])
    assert list(found.origin) == [f"{base.name}:policy", f"{new.name}:policy", "other"]
    pairs = {(pair.a, pair.b): pair.success.value for pair in found.comparison.pairs}
    assert pairs[f"{new.name}:policy", f"{base.name}:policy"] == pytest.approx(0.15)


def test_runs_of_different_length_are_paired_on_common_seeds(tmp_path: Path) -> None:
    found = compare([run_of(tmp_path, "a", below(9)), run_of(tmp_path, "b", below(9), n_trials=8)])
    assert found.comparison.pairs[0].n_a == 8
    assert "Trials that have no partner with the same seed (up to 12 of a pair) are left out" in found.cautions[0]


def test_agents_that_are_equal_on_the_trials_of_both_share_a_rank(tmp_path: Path) -> None:
    long, short = run_of(tmp_path, "a", below(5)), run_of(tmp_path, "b", below(5), n_trials=8)
    better = run_of(tmp_path, "c", below(8), n_trials=8)
    found = compare([long, short]).comparison
    assert found.pairs[0].success.value == 0
    assert {standing.rate for standing in found.agents} == {0.25, 0.625}
    assert [standing.rank for standing in found.agents] == [1, 1]
    assert "exactly the same success rate" in judgement.verdict(found)
    assert [standing.rank for standing in compare([long, short, better]).comparison.agents] == [1, 2, 2]


def test_rounding_errors_make_no_rank(tmp_path: Path) -> None:
    def by_return(trial: Trial) -> dict[str, object]:
        return {"outcome": True, "episode_reward": 0.1 + 0.2 * trial.index + (1e-13 if trial.agent == "y" else 0.0)}

    path = run_of(tmp_path, "a", by_return, ("x", "y"), scoring=ScoringCfg(mode="return"))
    assert [standing.rank for standing in compare([path]).comparison.agents] == [1, 1]


def test_other_seeds_are_compared_without_pairs(tmp_path: Path) -> None:
    found = compare([run_of(tmp_path, "a", below(9)), run_of(tmp_path, "b", below(9), base_seed=500)])
    assert found.comparison.pairs[0].unpaired_because == "seeds differ"
    assert any(words.startswith("Not paired (seeds differ)") for words in found.cautions)


def test_trials_after_a_stop_stay_out(tmp_path: Path) -> None:
    path = run_of(tmp_path, "a", lambda t: {"outcome": True, "after_stop": t.index >= 5}, ("x", "y"))
    assert compare([path]).comparison.pairs[0].n_a == 5


# Protocols ------------------------------------------------------------------------------------------------------------


def test_different_protocols_are_refused_and_named(tmp_path: Path) -> None:
    base = run_of(tmp_path, "base", below(9), max_episode_steps=100)
    task = TaskCfg(suite="gymnasium", name="reach", success_rule="ever", options={"id": "Other-v0"})
    new = run_of(tmp_path, "new", below(9), tasks=(task,), scoring=ScoringCfg(mode="success", floor=0.5))
    with pytest.raises(InputError) as refused:
        compare([base, new])
    for words in (
        "task reach, max_episode_steps: 100 against none",
        "task reach, success_rule: at_end against ever",
        "task reach, options.id: none against Other-v0",
        "scoring.floor: none against 0.5",
        "--across-protocols (from Python, across=True)",
    ):
        assert words in str(refused.value)
    found = compare([base, new], across=True)
    (pair,) = found.comparison.pairs
    assert pair.unpaired_because == "protocols differ"
    assert pair.score.value is None
    assert pair.success.value is not None
    assert found.cautions[0].startswith("Protocols differ, so a difference may be theirs: task reach")


def test_settings_are_named_one_by_one(tmp_path: Path) -> None:
    def with_options(label: str, **options: object) -> Path:
        return run_of(tmp_path, label, below(9), tasks=(TaskCfg(suite="gymnasium", name="reach", options=options),))

    rule = {"return_at_least": 200, "within_steps_of_the_episode": 400, "and_something_else_as_long": 3}
    with pytest.raises(InputError) as refused:
        compare([with_options("a"), with_options("b", success=rule, seats=list(range(100)), few={"x": [1, None]})])
    assert "task reach, options.success.return_at_least: none against 200 (" in str(refused.value)
    assert "task reach, options.success.and_something_else_as_long: none against 3 (" in str(refused.value)
    assert "task reach, options.seats: none against 100 values (" in str(refused.value)
    assert "task reach, options.few.x: none against [1, none] (" in str(refused.value)
    assert "{'" not in str(refused.value)


def test_where_there_is_nothing_to_rank_by_there_are_no_ranks(tmp_path: Path) -> None:
    base = run_of(tmp_path, "base", below(9), ("x",))
    new = run_of(tmp_path, "new", lambda t: Outcome.DONE, ("y",), scoring=ScoringCfg(mode="return"))
    found = compare([base, new], across=True).comparison
    assert [standing.rank for standing in found.agents] == [None, None]
    assert judgement.verdict(found).startswith("No comparison: nothing says what success is")


def test_what_only_changes_how_trials_run_is_no_difference(tmp_path: Path) -> None:
    base = run_of(tmp_path, "base", below(9), num_parallel=1)
    assert compare([base, run_of(tmp_path, "new", below(9), num_parallel=8)]).comparison.pairs[0].paired


def test_other_versions_are_a_caution(tmp_path: Path) -> None:
    base = run_of(tmp_path, "base", below(9), versions={"mujoco": "3.3.1"})
    new = run_of(tmp_path, "new", below(9), versions={"mujoco": "3.3.7"})
    found = compare([base, new])
    assert found.comparison.pairs[0].paired
    assert found.cautions[0].startswith("Versions differ: mujoco: 3.3.1 against 3.3.7")


def test_tasks_that_not_all_have_are_left_out(tmp_path: Path) -> None:
    base, new = run_of(tmp_path, "a", below(9)), run_of(tmp_path, "b", below(9), tasks=_tasks("reach", "push"))
    found = compare([base, new])
    assert found.comparison.tasks == ("reach",)
    assert "Not every run has these tasks, and they are left out: push." in found.cautions
    with pytest.raises(InputError, match=r"the runs have no task in common: .*: reach; .*: push"):
        compare([base, run_of(tmp_path, "c", below(9), tasks=_tasks("push"))])


def _tasks(*names: str) -> tuple[TaskCfg, ...]:
    return tuple(TaskCfg(suite="gymnasium", name=name) for name in names)


def test_nothing_to_compare_is_refused(tmp_path: Path) -> None:
    alone = run_of(tmp_path, "a", below(9))
    with pytest.raises(InputError, match="needs two agents with scored trials on the same tasks; found policy 20"):
        compare([alone])
    with pytest.raises(InputError, match="a run folder is named twice"):
        compare([alone, alone])
    broken = run_of(tmp_path, "b", lambda t: Outcome.ENV_ERROR)
    with pytest.raises(InputError, match="needs two agents with scored trials"):
        compare([alone, broken])


# Scores ---------------------------------------------------------------------------------------------------------------


# Command line ---------------------------------------------------------------------------------------------------------


def test_compare_prints_and_writes(tmp_path: Path, tell) -> None:
    path = run_of(tmp_path, "one", lambda t: t.agent == "good" or t.index < 4, ("<bad>", "good"))
    said = tell("compare", path)
    assert said.code == 0, said.err
    assert "good is better than <bad>: success rate 100 % against 20 %, difference 80 points" in said.out
    assert f"comparison: {path / 'compare.html'}" in said.out
    found = json.loads((path / "compare.json").read_text())
    assert found["verdict"] in said.out
    assert found["pairs"][0]["success"]["test"] == "exact McNemar"
    assert found["agents"][0]["letters"] == {"success": "a", "score": "a"}
    assert found["gate"] is None
    markdown = (path / "compare.md").read_text()
    assert "| good − &lt;bad&gt; | 20 pairs | 80 points |" in markdown
    page = (path / "compare.html").read_text()
    assert "<bad>" not in page
    assert "http" not in page.replace("http-equiv", "")
    Balanced().check(page)


def test_compare_for_machines_and_elsewhere(tmp_path: Path, tell) -> None:
    path = run_of(tmp_path, "one", lambda t: t.agent == "good" or t.index < 4, ("bad", "good"))
    said = tell("compare", path, "--json", "--out", tmp_path / "there")
    assert json.loads(said.out) == json.loads((tmp_path / "there" / "compare.json").read_text())
    assert not (path / "compare.json").exists()
    (tmp_path / "file").write_text("")
    refused = tell("compare", path, "--out", tmp_path / "file")
    assert refused.code == 2
    assert "name a folder: --out FOLDER" in refused.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--require-proof",), "--require-proof and --baseline go with --fail-if-worse MARGIN"),
        (("--on", "reward"), '--on reward: expected "success" or "score"'),
        (("--fail-if-worse", "0.1"), "--fail-if-worse needs two runs, BASE and NEW, or --baseline AGENT"),
        (("--fail-if-worse", "-1", "--baseline", "x"), "expected how much worse is tolerated, 0 or more"),
        (("--fail-if-worse", "0", "--baseline", "z"), 'no agent "z"; expected one of x, y'),
        (("--level", "95"), "a level of 95; it lies between 0 and 1"),
    ],
)
def test_bad_options_are_code_2(tmp_path: Path, tell, arguments: tuple[str, ...], message: str) -> None:
    said = tell("compare", run_of(tmp_path, "a", below(9), ("x", "y")), *arguments)
    assert said.code == 2
    assert message in said.err


def test_tasks_or_trials_count_alike(tmp_path: Path, tell) -> None:
    def wins(trial):
        if trial.task == "u" and trial.index >= 5:
            return None
        return (trial.task == "t") == (trial.agent == "a")

    path = run_of(tmp_path, "one", wins, ("a", "b"), tasks=("t", "u"))
    shares = {}
    for weights in ("tasks", "trials"):
        assert tell("compare", path, "--weights", weights, "--quiet").code == 0
        shares[weights] = {
            a["agent"]: a["success_rate"] for a in json.loads((path / "compare.json").read_text())["agents"]
        }
    assert shares == {"tasks": {"a": 0.5, "b": 0.5}, "trials": {"a": 0.8, "b": 0.2}}
    said = tell("compare", path, "--weights", "seeds")
    assert (said.code, "--weights seeds: expected" in said.err) == (2, True)
