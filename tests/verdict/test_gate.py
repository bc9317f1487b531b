"""The gate: rulings by the interval, who is held against whom, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_runs import below, run_of

from proctor.config.models import ScoringCfg
from proctor.errors import InputError
from proctor.verdict.comparison import AgentTrials, JudgeCfg, TaskTrials
from proctor.verdict.comparison.compare import compare
from proctor.verdict.gate import Gate, Ruling, gates, rule_on


def agent(name: str, success: list[int], unscored: Any = ()) -> AgentTrials:
    won = np.array(success, bool)
    return AgentTrials(
        name, {"t": TaskTrials(np.arange(len(won)), won, won.astype(float), np.array(unscored, np.int64))}
    )


def gate(new: list[int], base: list[int], margin: float = 0.02, **rest: Any) -> Gate:
    return rule_on(agent("new", new, **rest), agent("base", base), "success", margin, JudgeCfg())


def test_the_gate_goes_by_the_interval_and_not_by_the_mean() -> None:
    few = gate([1, 0, 0, 0], [1, 1, 0, 0])
    assert few.difference == -0.25
    assert few.ruling is Ruling.OPEN
    assert not few.failed(require_proof=False)
    assert few.failed(require_proof=True)
    many = gate([0] * 60 + [1] * 140, [1] * 200)
    assert many.ruling is Ruling.WORSE
    assert many.interval.high < -0.02
    assert many.failed(require_proof=False)
    fine = gate([1] * 600, [1] * 600)
    assert fine.ruling is Ruling.NOT_WORSE
    assert not fine.failed(require_proof=True)


def test_unscored_trials_can_hide_a_loss_from_the_proof() -> None:
    hidden = gate([1] * 600, [1] * 640, unscored=np.arange(600, 640))
    assert hidden.interval.low > -0.02
    assert hidden.worst_low < -0.02
    assert hidden.ruling is Ruling.OPEN


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


def test_agents_without_namesakes_need_a_baseline(tmp_path: Path) -> None:
    a, b = run_of(tmp_path, "a", below(9), ("x", "y")), run_of(tmp_path, "b", below(9), ("u", "v"))
    with pytest.raises(InputError, match="no agent of the second run is named like one of the first"):
        gates(compare([a, b]), "success", 0.02)
    c, d = run_of(tmp_path, "c", below(9), ("x",)), run_of(tmp_path, "d", below(9), ("u",))
    assert [(g.base, g.new) for g in gates(compare([c, d]), "success", 0.02)] == [("x", "u")]
