"""Report, compare and leaderboard say the same of the same run."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from made_up_runs import config, made_up

from proctor.config.models import ScoringCfg, TaskCfg
from proctor.runs.report import write_report
from proctor_host.episode import Outcome
from proctor_host.trials import Trial


def drawn(seed: int, lost: float, missing: float, few: bool, states: int | None) -> Any:
    """What came of a trial: agents of different skill, some trials unscored or missing, one task tried less often, and
    where there are few initial states, trials of one state that end alike."""

    def wins(trial: Trial) -> Any:
        index = trial.index if states is None else trial.index % states
        rng = np.random.default_rng([seed, ord(trial.agent), ord(trial.task), index])
        if (few and trial.task == "u" and trial.index >= 5) or rng.random() < missing:
            return None
        if rng.random() < lost:
            return Outcome.TIMEOUT
        skill = {"a": 0.9, "b": 0.6, "c": 0.55}[trial.agent]
        outcome, reward = bool(rng.random() < skill), float(rng.normal(skill, 0.5))
        return {"outcome": outcome, "episode_reward": reward, "trace": rng.bytes(16).hex()}

    return wins


@given(
    seed=st.integers(0, 10**6),
    mode=st.sampled_from(["success", "return"]),
    lost=st.sampled_from([0.0, 0.1, 0.3]),
    missing=st.sampled_from([0.0, 0.0, 0.2]),
    few=st.booleans(),
    states=st.sampled_from([None, None, 3, 12]),
    n_trials=st.integers(2, 14),
    by_seed=st.booleans(),
)
@example(seed=569, mode="success", lost=0.0, missing=0.2, few=False, states=3, n_trials=13, by_seed=False)
@settings(
    max_examples=12,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_the_three_pages_agree(
    tmp_path_factory: pytest.TempPathFactory, tell: Any, seed: int, mode: str, lost: float, missing: float, few: bool,
    states: int | None, n_trials: int, by_seed: bool,
) -> None:  # fmt: skip
    root = tmp_path_factory.mktemp("pages")
    seeds = np.random.default_rng(seed).choice(10**6, n_trials, replace=False).tolist() if by_seed else None
    tasks = tuple(TaskCfg(suite="gymnasium", name=name, seeds=seeds) for name in ("t", "u"))
    cfg = config(root, ("c", "a", "b"), tasks, n_trials=n_trials, scoring=ScoringCfg(mode=mode))
    run = made_up(cfg, drawn(seed, lost, missing, few, states))
    if by_seed:
        with run.ledger() as ledger:
            ledger.set_meta("by_seed", ["t", "u"])
    if states is not None:
        with run.ledger() as ledger:
            ledger.set_meta("initial_states", {"t": states, "u": states})
    write_report(run)
    assert tell("compare", run.path, "--quiet").code == 0
    assert tell("leaderboard", run.path, "--quiet").code == 0
    report, compared, board = (
        json.loads((run.path / f"{name}.json").read_text()) for name in ("report", "compare", "leaderboard")
    )
    assert report["comparison"]["pairs"] == compared["pairs"] == board["comparison"]["pairs"]
    assert report["comparison"]["agents"] == compared["agents"] == board["comparison"]["agents"]
    assert compared["verdict"] == report["verdict"]
    if sum(entry["score"] is not None for entry in board["agents"]) > 1:
        assert board["verdict"] == report["verdict"]
    for own, other, third in zip(report["agents"], compared["agents"], board["agents"], strict=True):
        assert own["agent"] == other["agent"] == third["agent"]
        assert own["rank"] == other["rank"] == third["rank"]
        assert own["success_rate"] == pytest.approx(other["success_rate"])
        assert own["success"]["interval"] == pytest.approx(other["success_interval"])
        assert own["score_mean"] == pytest.approx(other["score_mean"])
        assert own["score"]["interval"] == pytest.approx(other["score_interval"])
        if third["score"] is None:  # a leaderboard sums no tasks where one is missing, and nobody ranks such an agent
            assert own["rank"] is None
            continue
        assert own["score_mean"] == pytest.approx(third["score"])
        assert own["score"]["interval"] == pytest.approx(third["interval"])
        assert other["letters"]["score"] == third["letters"]
    told = [caution for caution in compared["cautions"] if "Unscored" in caution or "Simpson" in caution]
    assert all(caution in [finding["text"] for finding in report["findings"]] for caution in told)
