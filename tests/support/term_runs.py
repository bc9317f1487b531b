"""Made-up runs of a soccer competition: agents by how often they fall and score, with the terms that were recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from made_up_runs import config, made_up

from proctor.config.models import ScoringCfg
from proctor_host.trials import Trial

GOALIE, OBSTACLE, TARGET = "GoaliePenaltyKick", "ObstaclePenaltyKick", "KickToTarget"
TASKS = (GOALIE, OBSTACLE, TARGET)
SKILLS = {"striker": (0.1, 0.6), "walker": (0.3, 0.2), "statue": (0.0, 0.0), "clumsy": (0.9, 0.05)}
"""Agent -> how often it falls, and how often it scores."""


def last_step(trial: Trial, falls: float, scores: float) -> dict[str, float]:
    """The terms of a trial's last step. In the goalie task the seed changes nothing."""
    seed = 0 if trial.task == GOALIE else trial.seed
    key = int.from_bytes(sha256(f"{trial.agent}/{trial.task}/{seed}".encode()).digest()[:8], "big")
    rng = np.random.default_rng(key)
    fallen, scored = float(rng.random() < falls), float(rng.random() < scores)
    near, speed = float(rng.uniform(0.1, 0.9)), float(rng.gamma(2, 0.3)) * (scores > 0)
    if trial.task == TARGET:
        return {"offside": float(rng.random() < 0.1), "success": scored, "distance": near, "robot_distance_ball": near}
    return {
        "robot_distance_ball": near,
        "ball_vel_twd_goal": speed,
        "offside": float(rng.random() < 0.1),
        "ball_hits": float(np.log1p(rng.integers(0, 3))) * (scores > 0),
        "robot_fallen": fallen,
        "goal_scored": scored,
        "ball_blocked": float(rng.random() < 0.2) * (1 - scored),
    }


def outcome(trial: Trial) -> dict[str, Any]:
    terms = last_step(trial, *SKILLS[trial.agent])
    digest = sha256(repr((trial.agent, trial.task, sorted(terms.items()))).encode()).hexdigest()
    won = bool(terms.get("goal_scored", terms.get("success")))
    return {"outcome": won, "metrics": {f"term/{name}": value for name, value in terms.items()}, "trace": digest}


def contest(
    root: Path,
    name: str = "showdown",
    *,
    agents: tuple[str, ...] = tuple(SKILLS),
    tasks: tuple[Any, ...] = TASKS,
    wins: Callable[[Trial], Any] = outcome,
    versions: Mapping[str, str] | None = None,
    **keys: Any,
) -> Path:
    """The folder of a finished run."""
    options = keys.pop("options", {"preset": "sai"})
    scoring = ScoringCfg(mode="terminal", floor=keys.pop("floor", None), options=options)
    cfg = config(root / name, agents, tasks, name=name, **{"n_trials": 12, "scoring": scoring, **keys})
    return made_up(cfg, wins, versions).path
