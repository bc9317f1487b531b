"""Runs against runs: names, protocols, pairs, and the gate; by the command line where a user would."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_runs import config, made_up
from telling import Balanced

from proctor.config.models import ScoringCfg, TaskCfg
from proctor.errors import InputError
from proctor.record.episode import Outcome
from proctor.scoring import make_scoring
from proctor.verdict.compare import Options, compare, gates


def run_of(
    root: Path, name: str, wins: Callable[[Any], Any], agents: tuple[str, ...] = ("policy",), **keys: Any
) -> Path:
    versions = keys.pop("versions", None)
    return made_up(config(root / name, agents, name=name, **keys), wins, versions).path


def below(limit: int) -> Callable[[Any], bool]:
    return lambda trial: trial.index < limit


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
    assert found.comparison.pair(f"{new.name}:policy", f"{base.name}:policy").success.value == pytest.approx(0.15)


def test_runs_of_different_length_are_paired_on_common_seeds(tmp_path: Path) -> None:
    found = compare([run_of(tmp_path, "a", below(9)), run_of(tmp_path, "b", below(9), n_trials=8)])
    assert found.comparison.pairs[0].n_a == 8
    assert "Up to 12 trials have no partner with the same seed, and are left out of pairs." in found.cautions


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
        "--across-protocols",
    ):
        assert words in str(refused.value)
    found = compare([base, new], Options(across=True))
    (pair,) = found.comparison.pairs
    assert not pair.paired
    assert pair.score.value is None
    assert pair.success.value is not None
    assert found.cautions[0].startswith("Protocols differ, so a difference may be theirs: task reach")


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


@pytest.mark.parametrize("mode", ["success", "return", "default_v1", "ranking_v1", "tracking_v1"])
def test_scores_read_in_bulk_are_those_of_the_scoring(tmp_path: Path, mode: str) -> None:
    rng = np.random.default_rng(5)
    kinds = [True, False, Outcome.TRUNCATED, Outcome.POLICY_ERROR, Outcome.INVALID_ACTION, Outcome.TIMEOUT]
    names = ("wall_wire_force_norm_max", "wall_lcp_max_abs_max", "tip_speed_max_mm_s", "tip_jerk_p95_mm_s3", "emd")

    def how(_: Any) -> dict[str, Any]:
        metrics = {name: None if rng.random() < 0.3 else float(rng.gamma(2, 3)) for name in names}
        return {
            "outcome": kinds[int(rng.integers(6))],
            "metrics": metrics,
            "steps_to_success": int(rng.integers(1, 50)),
        }

    cfg = config(tmp_path, ("x", "y"), ("s", "t"), scoring=ScoringCfg(mode=mode, jerk_scale_mm_s3=4.0))
    run = made_up(cfg, how)
    scoring = make_scoring(cfg.scoring)
    results = list(run.results())
    agents = {agent.name: agent for agent in compare([run.path]).agents}
    for name in ("x", "y"):
        for task in ("s", "t"):
            own = [r for r in results if (r.trial.agent, r.trial.task) == (name, task)]
            expected = [scoring.score(r).total for r in own if r.outcome.scored]
            column = agents[name].tasks[task]
            assert column.score == pytest.approx([np.nan if s is None else s for s in expected], nan_ok=True)
            assert column.index.tolist() == [r.trial.index for r in own if r.outcome.scored]
            assert column.unscored.tolist() == [r.trial.index for r in own if not r.outcome.scored]


# Command line ---------------------------------------------------------------------------------------------------------


def test_compare_prints_and_writes(tmp_path: Path, tell) -> None:
    path = run_of(tmp_path, "one", lambda t: t.agent == "good" or t.index < 4, ("<bad>", "good"))
    said = tell("compare", path)
    assert said.code == 0, said.err
    assert "good is better than <bad>: score 1.00 against 0.200, difference 0.80" in said.out
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


def test_the_gate_has_its_own_exit_code(tmp_path: Path, tell) -> None:
    many = {"n_trials": 200}
    base, worse = run_of(tmp_path, "base", below(190), **many), run_of(tmp_path, "worse", below(140), **many)
    near = run_of(tmp_path, "near", below(188), **many)
    said = tell("compare", base, worse, "--fail-if-worse", "0.02", "--quiet")
    assert said.code == 3
    assert "worse: the whole interval lies below −2 points." in said.out
    assert said.out.splitlines()[-2] == "gate: failed"
    assert json.loads((worse / "compare.json").read_text())["gate"]["failed"] is True
    passed = tell("compare", base, near, "--fail-if-worse", "0.02", "--quiet")
    assert (passed.code, passed.out.splitlines()[-2]) == (0, "gate: passed")
    assert "not settled: the interval does not lie on one side of −2 points." in passed.out
    assert tell("compare", base, near, "--fail-if-worse", "0.02", "--require-proof").code == 3
    assert tell("compare", base, near, "--fail-if-worse", "0.2", "--require-proof").code == 0
    assert tell("compare", worse, base, "--fail-if-worse", "0.02").code == 0, "better is not worse"
    assert tell("compare", base, worse).code == 0, "without a gate there is nothing to fail"


def test_the_gate_on_scores(tmp_path: Path, tell) -> None:
    def reward(shift: float) -> Callable[[Any], Any]:
        return lambda t: {"outcome": True, "episode_reward": shift + (t.index % 7) / 7 + (t.index % 3) * shift / 10}

    keys = {"scoring": ScoringCfg(mode="return"), "n_trials": 60}
    base, new = run_of(tmp_path, "base", reward(1.0), **keys), run_of(tmp_path, "new", reward(0.5), **keys)
    said = tell("compare", base, new, "--fail-if-worse", "0.1", "--on", "score", "--quiet")
    assert said.code == 3
    assert tell("compare", base, new, "--fail-if-worse", "0.1", "--quiet").code == 0, "all succeeded"


def test_a_baseline_within_a_run_and_wider_intervals_for_several(tmp_path: Path, tell) -> None:
    path = run_of(tmp_path, "a", lambda t: t.agent == "old" or t.index < 150, ("x", "old", "y"), n_trials=200)
    assert tell("compare", path, "--fail-if-worse", "0.05", "--baseline", "old").code == 3
    rulings = gates(compare([path]), "success", 0.05, "old")
    assert [(gate.base, gate.new) for gate in rulings] == [("old", "x"), ("old", "y")]
    assert all(gate.level == pytest.approx(0.975) for gate in rulings)


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


def test_agents_without_namesakes_need_a_baseline(tmp_path: Path) -> None:
    a, b = run_of(tmp_path, "a", below(9), ("x", "y")), run_of(tmp_path, "b", below(9), ("u", "v"))
    with pytest.raises(InputError, match="no agent of the second run is named like one of the first"):
        gates(compare([a, b]), "success", 0.02)
    c, d = run_of(tmp_path, "c", below(9), ("x",)), run_of(tmp_path, "d", below(9), ("u",))
    assert [(g.base, g.new) for g in gates(compare([c, d]), "success", 0.02)] == [("x", "u")]
