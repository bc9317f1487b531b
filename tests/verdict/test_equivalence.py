"""Equivalence of agents: rulings by the interval, who is compared, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_runs import below, run_of

from proctor.errors import InputError
from proctor.report.build.judgement import likeness_sentence
from proctor.verdict.comparison import AgentTrials, JudgeCfg, TaskTrials
from proctor.verdict.comparison.compare import compare
from proctor.verdict.comparison.pairs import compare_pair
from proctor.verdict.gate import Alike, Likeness, likenesses, rule


def agent(name: str, success: Any, unscored: Any = ()) -> AgentTrials:
    won = np.array(success, bool)
    own = TaskTrials(np.arange(len(won)), won, won.astype(float), np.array(unscored, np.int64))
    return AgentTrials(name, {"t": own})


def ruled(a: AgentTrials, b: AgentTrials, margin: float = 0.05) -> Likeness:
    return rule(a, b, "success", margin, JudgeCfg(level=0.9))


def test_no_difference_found_is_not_enough_and_many_equal_trials_are() -> None:
    few = ruled(agent("a", [1, 0, 1, 1]), agent("b", [1, 0, 1, 1]))
    assert few.difference == 0
    assert few.ruling is Alike.OPEN
    many = ruled(agent("a", [1, 0, 1, 1] * 100), agent("b", [1, 0, 1, 1] * 100))
    assert many.ruling is Alike.SHOWN
    apart = ruled(agent("a", [1] * 200), agent("b", [0] * 100 + [1] * 100))
    assert apart.ruling is Alike.DIFFERENT


def test_a_significant_difference_may_still_be_too_small_to_matter() -> None:
    won = np.ones(2000, bool)
    lost = won.copy()
    lost[:30] = False
    pair = compare_pair(agent("a", won), agent("b", lost), JudgeCfg())
    assert pair.success.test is not None
    assert pair.success.test.p_value < 0.001
    assert ruled(agent("a", won), agent("b", lost)).ruling is Alike.SHOWN


def test_swapping_agents_changes_nothing_but_the_sign() -> None:
    a, b = agent("a", [1] * 180 + [0] * 20), agent("b", [1] * 175 + [0] * 25)
    one, other = ruled(a, b), ruled(b, a)
    assert one.ruling is other.ruling
    assert one.difference == pytest.approx(-(other.difference or 0))


def test_unscored_trials_can_hide_a_difference() -> None:
    hidden = ruled(agent("a", [1] * 600, unscored=np.arange(600, 660)), agent("b", [1] * 660))
    assert hidden.ruling is Alike.OPEN
    assert likeness_sentence(hidden).endswith("not shown to be equivalent: unscored trials could hide a difference.")


def test_exit_code_sentence_and_files(tmp_path: Path, tell) -> None:
    many = {"n_trials": 400}
    base, same = run_of(tmp_path, "base", below(300), **many), run_of(tmp_path, "same", below(302), **many)
    worse = run_of(tmp_path, "worse", below(200), **many)
    said = tell("compare", base, same, "--equivalent", "0.05", "--quiet")
    assert (said.code, said.out.splitlines()[-2]) == (0, "equivalence: shown")
    assert "90 % interval" in said.out
    assert "equivalent: the whole interval lies within −5 points to 5 points." in said.out
    found = json.loads((same / "compare.json").read_text())["equivalence"]
    assert (found["shown"], found["rulings"][0]["ruling"]) == (True, "equivalent")
    assert "**Equivalence shown.**" in (same / "compare.md").read_text()
    assert 'id="equivalence"' in (same / "compare.html").read_text()
    apart = tell("compare", base, worse, "--equivalent", "0.05", "--quiet")
    assert (apart.code, apart.out.splitlines()[-2]) == (3, "equivalence: not shown")
    assert tell("compare", base, same, "--quiet").code == 0
    assert json.loads((same / "compare.json").read_text())["equivalence"] is None


def test_all_pairs_or_those_with_a_baseline_at_a_level_for_all_of_them(tmp_path: Path) -> None:
    found = compare([run_of(tmp_path, "a", below(90), ("x", "y", "z"), n_trials=100)])
    assert len(likenesses(found, "success", 0.1)) == 3
    with_base = likenesses(found, "success", 0.1, "y")
    assert [(own.a, own.b) for own in with_base] == [("x", "y"), ("z", "y")]
    assert all(own.level == pytest.approx(0.95) for own in with_base)


def test_bad_input_is_said(tmp_path: Path, tell) -> None:
    path = run_of(tmp_path, "a", below(9), ("x", "y"))
    found = compare([path])
    with pytest.raises(InputError, match="--equivalent 0: expected the largest difference that does not matter"):
        likenesses(found, "success", 0.0)
    with pytest.raises(InputError, match='no agent "q"; expected one of x, y'):
        likenesses(found, "success", 0.1, "q")
    assert tell("compare", path, "--baseline", "x").code == 2


def test_trials_that_did_not_run_prove_no_equivalence() -> None:
    won = np.ones(600, bool)
    whole = TaskTrials(np.arange(600), won, won.astype(float))
    part = TaskTrials(np.arange(300), won[:300], won[:300].astype(float), missing=np.arange(300, 600))
    both = [AgentTrials(name, {"t": own}) for name, own in (("a", part), ("b", whole))]
    assert rule(*both, "success", 0.05, JudgeCfg(level=0.9)).ruling is Alike.OPEN
    alike = [AgentTrials(name, {"t": whole}) for name in "ab"]
    assert rule(*alike, "success", 0.05, JudgeCfg(level=0.9)).ruling is Alike.SHOWN
