"""What a verdict takes from a ledger is what the single results say, for every scoring."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor.config.models import AgentCfg, EvalConfig, ScoringCfg, TaskCfg
from proctor.plan.plan import Plan
from proctor.record.ledger import Ledger
from proctor.scoring import make_scoring
from proctor.verdict.trials import pairs_of, read_agents
from proctor_host.episode import Outcome
from proctor_host.result import TrialResult

NAMES = ("wall_wire_force_norm_max", "wall_lcp_max_abs_max", "tip_speed_max_mm_s", "tip_jerk_p95_mm_s3", "emd")


def half_the_reward(result: TrialResult) -> float | None:
    return None if result.episode_reward is None else result.episode_reward / 2


@pytest.mark.parametrize(
    "mode", ["success", "return", "default_v1", "ranking_v1", "tracking_v1", f"{__name__}:half_the_reward"]
)
def test_agents_have_the_scores_of_their_results(tmp_path: Path, mode: str) -> None:
    cfg = EvalConfig(
        name="made-up",
        agents=(AgentCfg(name="b", policy="random"), AgentCfg(name="a", policy="random")),
        tasks=(TaskCfg(suite="gymnasium", name="t"), TaskCfg(suite="gymnasium", name="s")),
        n_trials=20,
        scoring=ScoringCfg(mode=mode, floor=-1.0, options={"jerk_scale_mm_s3": 4.0} if mode == "ranking_v1" else {}),
    )
    rng = np.random.default_rng(0)
    outcomes = list(Outcome)
    results = [
        TrialResult(
            trial, outcome := outcomes[rng.integers(len(outcomes))], outcome is Outcome.SUCCESS, 9,
            4 if outcome is Outcome.SUCCESS else None, float(rng.normal()), 10,
            metrics={name: None if rng.random() < 0.3 else float(rng.gamma(2, 3)) for name in NAMES},
            trace=f"{int(rng.integers(1, 2**60)):064x}", after_stop=bool(rng.random() < 0.1),
        )
        for trial in Plan(cfg)
    ]  # fmt: skip
    with Ledger.create(tmp_path / "ledger.sqlite") as ledger:
        ledger.add(Plan(cfg).placed())
        ledger.finish(results[::-1])
        agents = read_agents(ledger, cfg, ["s", "t"])
    scoring = make_scoring(cfg.scoring)
    for agent in agents:
        assert list(agent.tasks) == ["s", "t"]
        for task, found in agent.tasks.items():
            own = [r for r in results if (r.trial.agent, r.trial.task) == (agent.name, task) and not r.after_stop]
            own.sort(key=lambda r: r.trial.index)
            scored = [r for r in own if r.outcome.scored]
            assert found.index.tolist() == [r.trial.index for r in scored]
            assert found.seed is not None
            assert found.seed.tolist() == [r.trial.seed for r in scored]
            assert found.success.tolist() == [r.success for r in scored]
            np.testing.assert_array_equal(found.score, np.array([scoring.score(r).total for r in scored], float))
            assert found.unscored.tolist() == [r.trial.index for r in own if not r.outcome.scored]


@pytest.mark.parametrize(("options", "pairs"), [({}, False), ({"pairs": False}, False), ({"pairs": True}, True)])
def test_imported_trials_are_paired_only_where_they_say_so(options: dict[str, bool], pairs: bool) -> None:
    ran, read = TaskCfg(suite="gymnasium", name="t"), TaskCfg(suite="imported", name="s", options=options)
    cfg = EvalConfig(name="x", agents=(AgentCfg(name="a", policy="zero"),), tasks=(ran,))
    assert pairs_of(cfg)
    assert pairs_of(cfg.model_copy(update={"tasks": (ran, read)})) is pairs


def test_what_was_planned_and_did_not_run_is_missing(tmp_path: Path) -> None:
    """By the ledger, whatever number of trials a config from somewhere else claims."""
    task = TaskCfg(suite="gymnasium", name="t")
    cfg = EvalConfig(name="x", agents=(AgentCfg(name="a", policy="zero"),), tasks=(task,), n_trials=4)
    with Ledger.create(tmp_path / "ledger.sqlite") as ledger:
        ledger.add(Plan(cfg).placed())
        ledger.finish(TrialResult(t, Outcome.SUCCESS, True, 5, 5, 1.0, 10) for t in Plan(cfg) if t.index < 2)
        for claimed in (4, 10**12):
            (agent,) = read_agents(ledger, cfg.model_copy(update={"n_trials": claimed}), ["t"])
            assert agent.tasks["t"].missing.tolist() == [2, 3]


@pytest.mark.parametrize("odd", [{"t": 0}, {"t": -1}, {"t": "many"}, {"t": 1.5}])
def test_what_a_ledger_cannot_know_of_initial_states_is_passed_over(tmp_path: Path, odd: dict[str, Any]) -> None:
    with Ledger.create(tmp_path / "ledger.sqlite") as ledger:
        ledger.set_meta("initial_states", {**odd, "u": 2})
        ledger.set_meta("looks", [3, "x"])
        assert ledger.initial_states() == {"u": 2}
        assert ledger.looks() == [3]
