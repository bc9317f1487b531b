"""Report, compare and leaderboard say the same of the same run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_runs import config, made_up

from proctor.config.models import ScoringCfg
from proctor.plan.trial import Trial
from proctor.record.episode import Outcome
from proctor.runs.report import write_report


def drawn(seed: int, lost: float, few: bool) -> Any:
    """What came of a trial: agents of different skill, some trials unscored, one task tried less often."""

    def wins(trial: Trial) -> Any:
        rng = np.random.default_rng([seed, ord(trial.agent), ord(trial.task), trial.index])
        if few and trial.task == "u" and trial.index >= 5:
            return None
        if rng.random() < lost:
            return Outcome.TIMEOUT
        skill = {"a": 0.9, "b": 0.6, "c": 0.55}[trial.agent]
        return {"outcome": bool(rng.random() < skill), "episode_reward": float(rng.normal(skill, 0.5))}

    return wins


@pytest.mark.parametrize("mode", ["success", "return"])
@pytest.mark.parametrize(("lost", "few"), [(0.0, False), (0.1, False), (0.0, True), (0.3, True)])
def test_the_three_pages_agree(tmp_path: Path, tell: Any, mode: str, lost: float, few: bool) -> None:
    cfg = config(tmp_path, ("c", "a", "b"), ("t", "u"), n_trials=12, scoring=ScoringCfg(mode=mode))
    run = made_up(cfg, drawn(len(mode), lost, few))
    write_report(run)
    assert tell("compare", run.path, "--quiet").code == 0
    assert tell("leaderboard", run.path, "--quiet").code == 0
    report, compared, board = (
        json.loads((run.path / f"{name}.json").read_text()) for name in ("report", "compare", "leaderboard")
    )
    assert report["comparison"]["pairs"] == compared["pairs"] == board["comparison"]["pairs"]
    assert report["comparison"]["agents"] == compared["agents"] == board["comparison"]["agents"]
    assert compared["verdict"] == board["verdict"] == report["verdict"]
    for own, other, third in zip(report["agents"], compared["agents"], board["agents"], strict=True):
        assert own["agent"] == other["agent"] == third["agent"]
        assert own["rank"] == other["rank"] == third["rank"]
        assert own["success_rate"] == pytest.approx(other["success_rate"])
        assert own["success"]["interval"] == pytest.approx(other["success_interval"])
        assert own["score_mean"] == pytest.approx(other["score_mean"])
        assert own["score_mean"] == pytest.approx(third["score"])
        assert own["score"]["interval"] == pytest.approx(other["score_interval"])
        assert own["score"]["interval"] == pytest.approx(third["interval"])
        assert other["letters"]["score"] == third["letters"]
    told = [caution for caution in compared["cautions"] if "Unscored" in caution or "Simpson" in caution]
    assert all(caution in [finding["text"] for finding in report["findings"]] for caution in told)
